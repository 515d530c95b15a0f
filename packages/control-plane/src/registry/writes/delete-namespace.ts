import { conflict } from '../../apimachinery/errors/errors.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import type { DeleteOptions } from '../../resources/options.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/**
 * Returns whether the kind is Namespace. The server deletes a namespace only after a controller has deleted its
 * content.
 */
export const isNamespace = ({ kind, group, custom }: KindDefinition): boolean =>
  kind === 'Namespace' && group === '' && !custom;

/**
 * Returns the options for the deletion of a namespace or a CRD, which the server first marks for deletion.
 *
 * @see kubernetes pkg/registry/core/namespace/storage
 * @throws StatusError 409 if a precondition does not match
 */
export function pinnedOptions(kind: KindDefinition, object: ApiObject, options: DeleteOptions): DeleteOptions {
  const { name = '', uid = '', resourceVersion = '' } = object.metadata;
  const { uid: wantedUid = uid, resourceVersion: wantedVersion = resourceVersion } = options.preconditions ?? {};
  const refuse = (what: string, wanted: string, found: string): Error =>
    conflict(kind, name, `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`);
  if (wantedUid !== uid) throw refuse('UID', wantedUid, uid);
  if (wantedVersion !== resourceVersion) throw refuse('ResourceVersion', wantedVersion, resourceVersion);
  const preconditions = { ...options.preconditions, uid };
  return { ...options, preconditions, given: { ...options.given, preconditions } as JsonObject };
}

/**
 * Returns the finalizer that a propagation policy requires. For namespaces and CRDs, the deprecated option
 * `orphanDependents: false` means foreground deletion.
 */
function wantedFinalizer({ propagationPolicy, given }: DeleteOptions): string | undefined {
  if (propagationPolicy === undefined) return undefined;
  if (propagationPolicy === 'Orphan') return ORPHAN;
  const waits = propagationPolicy === 'Foreground' || String(given?.orphanDependents) === 'false';
  return waits ? FOREGROUND : '';
}

/** Marks a namespace for deletion. The server deletes the namespace when its last finalizer is removed. */
export function markNamespace(namespace: ApiObject, options: DeleteOptions, now: Date): void {
  namespace.metadata.deletionTimestamp = formatTime(now);
  namespace.status = { ...(namespace.status as object | undefined), phase: 'Terminating' };
  const wanted = wantedFinalizer(options);
  if (wanted === undefined) return;
  const before = namespace.metadata.finalizers ?? [];
  const kept = before.filter((finalizer) => finalizer === wanted || (finalizer !== ORPHAN && finalizer !== FOREGROUND));
  namespace.metadata.finalizers = wanted === '' || kept.includes(wanted) ? kept : [...kept, wanted];
}
