import { emptiesOf, holdsEmpties } from '../../apimachinery/objects/empties.ts';
import { equalJson, isRecord, own } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { fieldElement, itemElement } from './fields/fieldPath.ts';
import { type FieldSet, fieldSet, isEmptySet, LEAF, union } from './fields/fieldSet.ts';
import { fieldType, type Shape, shapeOf } from './fields/types.ts';

export interface Changes {
  readonly changed: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

const NOTHING: Changes = { changed: undefined, removed: undefined };
const CHANGED: Changes = { changed: LEAF, removed: undefined };
const REMOVED: Changes = { changed: undefined, removed: LEAF };

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0);

function compareLeaf(old: unknown, next: unknown): Changes {
  if (old === undefined) return next === undefined ? NOTHING : CHANGED;
  if (next === undefined) return REMOVED;
  return sameValue(old, next) ? NOTHING : CHANGED;
}

/** Compares two values in list items. An empty list or map differs from an absent field. */
const sameValue = (old: unknown, next: unknown): boolean =>
  equalJson(old, next) && !(Array.isArray(next) && holdsEmpties(next));

class Gathering {
  private changed: Map<string, FieldSet> | undefined;
  private removed: Map<string, FieldSet> | undefined;

  add(element: string, changes: Changes): void {
    if (changes.changed !== undefined) {
      this.changed ??= new Map();
      this.changed.set(element, changes.changed);
    }
    if (changes.removed !== undefined) {
      this.removed ??= new Map();
      this.removed.set(element, changes.removed);
    }
  }

  done(old: unknown, next: unknown): Changes {
    const came = old === undefined;
    const went = next === undefined;
    if (this.changed === undefined && this.removed === undefined && !came && !went) return NOTHING;
    const changed = fieldSet(came, this.changed);
    const removed = fieldSet(went, this.removed);
    return {
      changed: isEmptySet(changed) ? undefined : changed,
      removed: isEmptySet(removed) ? undefined : removed,
    };
  }
}

const UNTRACKED_META = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'generation',
  'managedFields',
  'resourceVersion',
]);

export interface Scope {
  readonly ignored: ReadonlySet<string>;
  readonly ignoredMeta?: ReadonlySet<string>;
  readonly ignoredStatus?: ReadonlySet<string>;
}

function compareMap(
  old: unknown,
  next: unknown,
  node: SchemaNode | undefined,
  isResource: boolean,
  skip: Skip,
): Changes {
  const before = isRecord(old) ? old : {};
  const after = isRecord(next) ? next : {};
  const gathering = new Gathering();
  for (const key of Object.keys(after)) {
    if (skip(key)) continue;
    // The server does not store an empty list, but the client that wrote the list becomes the manager of the field.
    compareField(own(before, key), after[key] ?? emptiesOf(after)[key] ?? after[key], key);
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key) && !skip(key)) compareField(before[key], undefined, key);
  }
  return gathering.done(old, next);

  function compareField(a: unknown, b: unknown, key: string): void {
    if (a === b) return;
    const type = fieldType(node, key, isResource);
    gathering.add(fieldElement(key), compareValues(a, b, type.node));
  }
}

type Skip = (key: string) => boolean;
const NONE: Skip = () => false;

function index(list: unknown, node: SchemaNode): Map<string, unknown[]> {
  return Array.isArray(list) ? Map.groupBy(list, (item: unknown) => itemElement(item, node)) : new Map();
}

function compareItems(old: readonly unknown[], next: readonly unknown[], node: SchemaNode): Changes {
  if (old.length <= 1 && next.length <= 1) return compareValues(old[0], next[0], node.items);
  if (old.length > 1 && next.length > 1) return equalJson(old, next) ? NOTHING : CHANGED;
  if (old.length > 1) return { changed: compareValues(undefined, next[0], node.items).changed, removed: LEAF };
  return { changed: LEAF, removed: compareValues(old[0], undefined, node.items).removed };
}

function compareList(old: unknown, next: unknown, node: SchemaNode): Changes {
  if (old !== undefined && next !== undefined && sameValue(old, next)) return NOTHING;
  const before = index(old, node);
  const after = index(next, node);
  const gathering = new Gathering();
  for (const element of new Set([...after.keys(), ...before.keys()])) {
    gathering.add(element, compareItems(before.get(element) ?? [], after.get(element) ?? [], node));
  }
  return gathering.done(old, next);
}

function compareAs(shape: Shape, old: unknown, next: unknown, node: SchemaNode | undefined): Changes {
  const isWhole = (value: unknown): boolean =>
    (shape === 'list' ? !Array.isArray(value) : !isRecord(value)) || isEmpty(value);
  if (shape === 'leaf' || (isWhole(old) && isWhole(next))) return compareLeaf(old, next);
  if (shape === 'list' && node !== undefined) return compareList(old, next, node);
  return compareMap(old, next, node, node?.embedded === true, NONE);
}

const both = (a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined =>
  a === undefined || b === undefined ? (a ?? b) : union(a, b);

function compareValues(old: unknown, next: unknown, node: SchemaNode | undefined): Changes {
  if (old === next) return NOTHING;
  const before = shapeOf(node, old ?? next ?? {});
  const after = shapeOf(node, next ?? old ?? {});
  const changes = compareAs(after, old, next, node);
  if (before === after) return changes;
  const other = compareAs(before, old, next, node);
  return { changed: both(other.changed, changes.changed), removed: both(other.removed, changes.removed) };
}

/** Returns the changes between two objects. */
export function compareObjects(
  old: Record<string, unknown>,
  next: Record<string, unknown>,
  node: SchemaNode | undefined,
  scope: Scope,
): Changes {
  const top: Skip = (key) => key === 'apiVersion' || key === 'kind' || key === 'metadata' || scope.ignored.has(key);
  const body = compareMap(pick(old, scope), pick(next, scope), node, true, top);
  if (scope.ignored.has('metadata')) return body;
  const metaNode = fieldType(undefined, 'metadata', true).node;
  const meta = compareMap(own(old, 'metadata') ?? {}, own(next, 'metadata') ?? {}, metaNode, false, (key) =>
    isUntracked(key, scope),
  );
  return { changed: withMeta(body.changed, meta.changed), removed: withMeta(body.removed, meta.removed) };
}

const isUntracked = (field: string, scope: Scope): boolean =>
  UNTRACKED_META.has(field) || scope.ignoredMeta?.has(field) === true;

/** Removes the status fields that the endpoint of the request does not write. */
function pick(object: Record<string, unknown>, { ignoredStatus }: Scope): Record<string, unknown> {
  const { status } = object;
  if (ignoredStatus === undefined || !isRecord(status)) return object;
  return { ...object, status: Object.fromEntries(Object.entries(status).filter(([key]) => !ignoredStatus.has(key))) };
}

function withMeta(body: FieldSet | undefined, meta: FieldSet | undefined): FieldSet | undefined {
  if (meta === undefined) return body;
  return fieldSet(false, new Map([...(body?.children ?? []), [fieldElement('metadata'), meta]]));
}

/** Returns whether a field can have a manager. */
export function isTracked(path: readonly string[], scope: Scope): boolean {
  const [first, second] = path;
  if (first === undefined) return true;
  const name = first.slice(2);
  if (name === 'apiVersion' || name === 'kind' || scope.ignored.has(name)) return false;
  const field = second?.slice(2);
  if (name === 'status') return field === undefined || scope.ignoredStatus?.has(field) !== true;
  return name !== 'metadata' || (field !== undefined && !isUntracked(field, scope));
}
