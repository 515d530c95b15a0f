import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';

/**
 * The maximum number of different parts. If the number is reached, the class forgets all parts. Objects keep the parts
 * that they contain.
 */
const MOST_PARTS = 16_384;

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}

/**
 * Replaces equal parts of many objects by one frozen part. A large cluster has many pods with equal labels, containers
 * and tolerations. A garbage collection visits each stored object, so fewer objects make its pauses shorter.
 */
export class SharedParts {
  readonly #texts = new Map<string, string>();
  readonly #parts = new Map<string, unknown>();

  text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MOST_PARTS) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  /** Returns the shared value that equals the given JSON value. */
  of<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T & string;
    if (typeof value !== 'object' || value === null) return value;
    const text = stringifyJson(value);
    const known = this.#parts.get(text);
    if (known !== undefined) return known as T;
    if (this.#parts.size >= MOST_PARTS) this.#parts.clear();
    // A parsed copy needs less memory than an object whose fields were added one by one.
    const part = parseJson(text);
    freeze(part);
    this.#parts.set(text, part);
    return part as T;
  }
}

/** The parts of all objects in this process. */
export const sharedParts = new SharedParts();
