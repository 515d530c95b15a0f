import { conflict, MODIFIED, notFound, preconditionFailed } from '../../apimachinery/errors/errors.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals, renderObject } from '../../apimachinery/objects/object-text.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { DeleteOptions } from '../../resources/options.ts';
import type { Before, Call, Registry, Target } from '../../resources/registry.ts';
import type { StoredRecord } from '../../store/record.ts';
import { isNamespace, markNamespace, pinnedOptions } from './delete-namespace.ts';
import { hasSpecFinalizers } from './update.ts';

export interface Deleted {
  readonly gone: boolean;
  readonly text: string;
  readonly object: ApiObject;
}

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';
const ATTEMPTS = 8;

/**
 * Deletes an object. The function only marks the object for deletion if it has finalizers, a grace period (pods), or
 * dependents that must be deleted first.
 *
 * @param how `admitted`: admission has already processed the request as an eviction.
 * @throws StatusError 403, 404 or 409 if the object cannot be deleted
 */
export async function deleteObject(
  registry: Registry,
  call: Call,
  target: Target,
  given: DeleteOptions,
  how?: 'admitted' | 'listed',
): Promise<Deleted> {
  const { served } = target;
  const { propagationWarning } = served.kind;
  if (propagationWarning !== undefined && given.propagationPolicy === undefined) call.warn(propagationWarning);
  for (let attempt = 1; ; attempt++) {
    const record = registry.store.get(served.resource, target.namespace, target.name);
    if (record === undefined) throw notFound(served.kind, target.name);
    const old = registry.parse(served, record);
    const marksItself = isNamespace(served.kind) || (served.kind.markForDeletion !== undefined && how !== 'listed');
    const options = marksItself ? pinnedOptions(served.kind, old, given) : given;
    // A second delete request leaves a terminating namespace unchanged.
    if (hasSpecFinalizers(old) && isDying(old)) return { gone: false, text: served.storedTextOf(record), object: old };
    checkPreconditions(served.kind, old, options);
    if (how !== 'admitted') {
      await admitDelete(registry, call, target, how === 'listed' ? '' : target.name, old, options);
    }
    if (registry.store.get(served.resource, target.namespace, target.name) === record) {
      return finish(registry, target, record, old, options, how === 'listed');
    }
    if (attempt >= ATTEMPTS) throw conflict(served.kind, target.name, MODIFIED);
  }
}

const PLAIN: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  preconditions: undefined,
};

/** Deletes an object for the server itself, without admission. */
export function deleteRecord(registry: Registry, served: ServedKind, record: StoredRecord): void {
  const target = { served, namespace: record.namespace, name: record.name, subresource: '' };
  finish(registry, target, record, registry.parse(served, record), PLAIN, true);
}

const isDying = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp !== undefined;

async function admitDelete(
  registry: Registry,
  call: Call,
  target: Target,
  name: string,
  old: ApiObject,
  options: DeleteOptions,
): Promise<void> {
  const attributes = registry.attributes(call, target, {
    operation: 'DELETE',
    name,
    object: undefined,
    old,
    dryRun: options.dryRun,
    options: options.given,
  });
  await registry.admission.admit(attributes);
  await registry.admission.validate(attributes);
}

/** @throws StatusError 409 if the object does not match the preconditions */
export function checkPreconditions(kind: KindDefinition, old: ApiObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion, name = '' } = old.metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw preconditionFailed(
      kind,
      name,
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    throw preconditionFailed(
      kind,
      name,
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
}

/**
 * Completes the deletion. No `await` separates the read and the write, so no other client can write in the meantime.
 */
function finish(
  registry: Registry,
  target: Target,
  record: StoredRecord,
  old: ApiObject,
  options: DeleteOptions,
  isListed: boolean,
): Deleted {
  const { served } = target;
  // A deletion changes only the fields of the metadata. After `mark` has changed other fields, no code reads `old`.
  const object: ApiObject = { ...old, metadata: { ...old.metadata } };
  const mark = isNamespace(served.kind)
    ? () => markNamespace(object, options, registry.now())
    : isListed
      ? undefined
      : served.kind.markForDeletion && (() => served.kind.markForDeletion?.(object, registry.now()));
  if (mark !== undefined && !isDying(old)) {
    mark();
    if (options.dryRun) return { gone: false, text: renderObject(object, undefined), object };
    return { gone: false, text: served.textOf(registry.put(served, object)), object };
  }
  const grace = applyGrace(registry, target, object, options);
  if (grace === 'pending') return { gone: false, text: served.textOf(record), object };
  const finalizers = finalizersFor(object, options, served.kind.defaultPropagation);
  object.metadata.finalizers = finalizers;
  const waits = finalizers.length > 0 || hasSpecFinalizers(object);
  if (grace === 'none' && waits && !hasSpecFinalizers(object)) markAsDeleting(registry, object);
  const marked = grace === 'given' || waits;
  // If the kind has no grace periods, the server ignores a grace period in the metadata.
  const gone = !waits && (grace === 'none' || (object.metadata.deletionGracePeriodSeconds ?? 0) <= 0);
  if (options.dryRun) return { gone, text: marked ? renderObject(object, undefined) : served.textOf(record), object };
  let current = record;
  const before: Before = { record, part: 'metadata' };
  if (marked && (!isMarkedSo(object, old) || registry.isWrittenAnyway(served, before)))
    current = registry.put(served, object, before);
  if (gone) current = registry.remove(served, current);
  // As in kube-apiserver, a deleted object has its response form in the response, but a marked object has its stored
  // form.
  return { gone, text: gone ? served.textOf(current) : served.storedTextOf(current), object };
}

/** Returns whether an earlier request has already marked the object for deletion with the same metadata. */
const isMarkedSo = (object: ApiObject, old: ApiObject): boolean =>
  old.metadata.deletionTimestamp !== undefined &&
  jsonEquals(parseJson(renderObject(object, undefined)), parseJson(renderObject(old, undefined)));

/**
 * Sets the grace period of a deletion, as `rest.BeforeDelete` in Kubernetes. Returns one of these results:
 * - `pending`: the deletion is already in progress and nothing changes,
 * - `given`: the object gets its deletion time,
 * - `none`: the kind has no grace period.
 */
function applyGrace(
  registry: Registry,
  { served: { kind } }: Target,
  object: ApiObject,
  options: DeleteOptions,
): 'pending' | 'given' | 'none' {
  if (kind.gracePeriodSeconds === undefined) return 'none';
  const { metadata } = object;
  const given = options.gracePeriodSeconds;
  const asked = given === undefined || given >= 0 ? given : 1;
  if (metadata.deletionTimestamp !== undefined) {
    const before = metadata.deletionGracePeriodSeconds;
    if (before === undefined) return 'none';
    if (asked === undefined || asked >= before) return 'pending';
    const start = Date.parse(metadata.deletionTimestamp) - before * 1000;
    const now = registry.now().getTime();
    const end = start + asked * 1000;
    // If the grace period has already ended, the shortest grace period replaces it, because the kubelet must see the
    // change.
    metadata.deletionTimestamp = formatTime(new Date(Math.max(end, now)));
    metadata.deletionGracePeriodSeconds = end < now ? Math.min(asked, 1) : asked;
    return 'given';
  }
  const own = kind.gracePeriodSeconds(object);
  const period = own === 0 ? 0 : (asked ?? own);
  metadata.deletionTimestamp = formatTime(timeAfter(registry.now(), period));
  metadata.deletionGracePeriodSeconds = period;
  if ((metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation ?? 0) + 1;
  return 'given';
}

const LAST = Date.parse('9999-12-31T23:59:59Z');

const timeAfter = (now: Date, seconds: number): Date => new Date(Math.min(now.getTime() + seconds * 1000, LAST));

/** Returns the finalizers of an object, including the finalizer that the propagation policy requires. */
function finalizersFor(
  object: ApiObject,
  options: DeleteOptions,
  usual: KindDefinition['defaultPropagation'] = 'Background',
): string[] {
  const before = object.metadata.finalizers ?? [];
  let policy = usual === 'Unsupported' ? usual : options.propagationPolicy;
  if (policy === undefined) {
    if (before.includes(ORPHAN)) policy = 'Orphan';
    else if (before.includes(FOREGROUND)) policy = 'Foreground';
    else policy = usual;
  }
  const wanted = policy === 'Orphan' ? ORPHAN : policy === 'Foreground' ? FOREGROUND : undefined;
  if (wanted !== undefined && before.includes(wanted)) {
    return before.filter((finalizer) => finalizer === wanted || (finalizer !== ORPHAN && finalizer !== FOREGROUND));
  }
  const others = before.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND);
  return wanted === undefined ? others : [...others, wanted];
}

/** Marks an object as being deleted. */
function markAsDeleting(registry: Registry, object: ApiObject): void {
  const { metadata } = object;
  const now = registry.now();
  if (metadata.deletionTimestamp === undefined && (metadata.generation ?? 0) > 0) {
    metadata.generation = (metadata.generation ?? 0) + 1;
  }
  if (metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) > now.getTime()) {
    metadata.deletionTimestamp = formatTime(now);
  }
  metadata.deletionGracePeriodSeconds = 0;
}
