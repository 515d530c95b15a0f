import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { Json } from '../apimachinery/objects/object.ts';

type Container = Json[] | { [key: string]: Json };

const isContainer = (value: unknown): value is Container => Array.isArray(value) || isRecord(value);

/** Returns the path inside a field or list item, or undefined if the path does not lead into the field or item. */
function pathBelow(path: string, step: string): string | undefined {
  if (!path.startsWith(step)) return undefined;
  const rest = path.slice(step.length);
  if (rest.startsWith('.')) return rest.slice(1);
  return rest.startsWith('[') ? rest : undefined;
}

const stepOf = (container: Container, key: string): string => (Array.isArray(container) ? `[${key}]` : key);

/**
 * Finds the repeated fields in an object after a JSON patch.
 * @see github.com/evanphx/json-patch `lazyNode`
 */
export class RepeatedValues {
  readonly #paths: readonly string[];
  readonly #unread = new WeakMap<object, readonly string[]>();

  /** @param paths the paths of repeated fields in the list of operations, such as `[0].value.spec.a` */
  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Records a copy of the value of an operation, which is now a part of the object. */
  placed(value: Json, operation: number): void {
    this.#add(
      value,
      this.#paths.flatMap((path) => pathBelow(path, `[${operation}].value`) ?? []),
    );
  }

  copied(value: Json | undefined, copy: Json | undefined): void {
    if (!isContainer(value) || !isContainer(copy)) return;
    this.#add(copy, this.#unread.get(value) ?? []);
    for (const key of Object.keys(value))
      this.copied(Reflect.get(value, key) as Json, Reflect.get(copy, key) as Json | undefined);
  }

  read(value: Json | undefined): void {
    if (!isContainer(value)) return;
    const paths = this.#unread.get(value);
    if (paths === undefined) return;
    this.#unread.delete(value);
    for (const [key, inner] of Object.entries(value)) {
      const step = stepOf(value, key);
      this.#add(
        inner,
        paths.flatMap((path) => pathBelow(path, step) ?? []),
      );
    }
  }

  compared(value: Json | undefined): void {
    if (!isContainer(value)) return;
    this.read(value);
    for (const inner of Object.values(value)) this.compared(inner);
  }

  /** Returns the paths of the repeated fields that remain in an object. */
  left(value: Json, path = ''): string[] {
    if (!isContainer(value)) return [];
    const at = (step: string): string => (path === '' || step.startsWith('[') ? `${path}${step}` : `${path}.${step}`);
    const paths = this.#unread.get(value);
    if (paths !== undefined) return paths.map(at);
    const keys = Array.isArray(value) ? Object.keys(value) : Object.keys(value).sort();
    return keys.flatMap((key) => this.left(Reflect.get(value, key) as Json, at(stepOf(value, key))));
  }

  #add(value: Json, paths: readonly string[]): void {
    if (paths.length > 0 && isContainer(value)) this.#unread.set(value, paths);
  }
}
