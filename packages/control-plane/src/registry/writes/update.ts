import {
  badRequest,
  conflict,
  internal,
  internalError,
  invalid,
  invalidValue,
  MODIFIED,
  notFound,
  shownKind,
} from '../../apimachinery/errors/errors.ts';
import { holdsEmpties, isGivenEmpty } from '../../apimachinery/objects/empties.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import { jsonEquals, renderObject, tidyMeta } from '../../apimachinery/objects/object-text.ts';
import type { StatusCause, StatusError } from '../../apimachinery/objects/status.ts';
import { differInTimes } from '../../patch/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import { dedupOwners, finalizerWarnings, metaUpdateCauses } from '../../resources/metadata.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Before, Call, Registry, Target, Written } from '../../resources/registry.ts';
import type { StoredRecord } from '../../store/record.ts';
import { checkCustomType } from '../bodies/type-meta.ts';
import { createObject, matchNamespace, strategyContext, track } from './create.ts';
import { schemaCauses } from './schema-causes.ts';

export interface Transformation {
  /**
   * Returns the new object. `live` parses a copy of the stored object. A PUT contains the whole object, so the function
   * of a PUT does not call `live`.
   */
  readonly next: (live: () => ApiObject, old: ApiObject) => ApiObject | Promise<ApiObject>;
  /** Returns the object that the write creates if no object with the name exists. */
  readonly create?: (() => ApiObject | Promise<ApiObject>) | undefined;
  /** Whether the stored metadata differs from the metadata in responses. */
  readonly isOdd?: () => boolean;
  /** Whether the object from `next` already contains its managedFields. */
  readonly managed?: boolean;
  /** Whether admission has already processed the request with another body (a Binding). */
  readonly admitted?: boolean;
  /** Whether kube-apiserver stores the object without a validation (a Binding). */
  readonly unchecked?: boolean;
  /** After the validation of the object, runs validating admission with the original body, such as a Binding. */
  readonly validate?: (updated: ApiObject, old: ApiObject) => Promise<void>;
  /** Whether the write is a patch. */
  readonly patched?: boolean;
}

const QUIET_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'binding']);

const ATTEMPTS = 8;

/**
 * After a conflict, the function tries again with the new version of the object.
 * @throws StatusError 400, 404, 409, 422 or 500 if the write fails
 */
export async function updateObject(
  registry: Registry,
  call: Call,
  target: Target,
  transformation: Transformation,
  options: WriteOptions,
): Promise<Written> {
  const { served } = target;
  for (let attempt = 1; ; attempt++) {
    const record = registry.store.get(served.resource, target.namespace, target.name);
    if (record === undefined) {
      if (transformation.create === undefined) throw notFound(served.kind, target.name);
      const object = await transformation.create();
      const { metadata } = object;
      const { uid = '' } = metadata;
      if (uid !== '' && transformation.patched === true) throw absentUid(target, uid);
      matchNamespace(object, target);
      checkName(object, target);
      if (uid !== '') throw uidConflict(target, uid, '');
      // The update creates an object, so no stored version exists for a comparison.
      checkVersionText(metadata.resourceVersion ?? '');
      if (!options.dryRun) delete metadata.resourceVersion;
      const { managed = false } = transformation;
      return createObject(registry, call, target, object, options, { managed, byUpdate: true });
    }
    const written = await attemptUpdate(registry, call, target, transformation, options, record);
    if (written !== undefined) return written;
    if (attempt >= ATTEMPTS) throw conflict(served.kind, target.name, MODIFIED);
  }
}

async function attemptUpdate(
  registry: Registry,
  call: Call,
  target: Target,
  transformation: Transformation,
  options: WriteOptions,
  record: StoredRecord,
): Promise<Written | undefined> {
  const { served, subresource } = target;
  const { kind } = served;
  const old = registry.parse(served, record);
  let updated = await transformation.next(() => registry.parse(served, record), old);
  checkIdentity(updated, old, target, transformation.patched === true);
  const repeated = dedupOwners(updated);
  if (repeated !== undefined) call.warn(repeated);
  updated.metadata = tidyMeta(updated.metadata);
  if (transformation.managed !== true) track(registry, served, old, updated, options, subresource);
  const attributes = registry.attributes(call, target, {
    operation: 'UPDATE',
    object: updated,
    old,
    dryRun: options.dryRun,
    options: options.given,
  });
  const admission = transformation.admitted === true ? undefined : registry.admission;
  updated = (await admission?.admit(attributes)) ?? updated;
  matchNamespace(updated, target);
  checkVersion(updated, old, target);
  if (kind.custom && (updated as Partial<ApiObject>).apiVersion === undefined) {
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  }
  prepare(registry, call, served, subresource, updated, old, options.dryRun);
  if (kind.custom && subresource !== 'status') checkCustomType(updated, served, old);
  const causes = transformation.unchecked === true ? [] : causesOf(registry, call, served, subresource, updated, old);
  if (causes.length > 0) throw invalid(shownKind(kind), target.name, causes);
  if (subresource === '' && kind.custom) {
    for (const warning of finalizerWarnings(updated.metadata, old.metadata)) call.warn(warning);
  }
  if (subresource === '') for (const warning of kind.warnings?.(updated, old) ?? []) call.warn(warning);
  const isOdd = transformation.isOdd?.() === true;
  // `prepare` has already restored fields such as the generation, which this write cannot change.
  if (!isOdd) keepTimes(updated, old);
  await admission?.validate({ ...attributes, object: updated });
  await transformation.validate?.(updated, old);

  if (registry.store.get(served.resource, target.namespace, target.name) !== record) return undefined;
  if (isFinished(updated, old)) {
    // The response contains the last version of the object before its deletion.
    updated.metadata.resourceVersion = old.metadata.resourceVersion ?? '';
    const text = renderObject(updated, undefined);
    if (!options.dryRun) registry.remove(served, record);
    return { text, created: false };
  }
  updated.metadata.resourceVersion = old.metadata.resourceVersion ?? '';
  // The store removes `selfLink` from the metadata.
  if (!options.dryRun) delete updated.metadata.selfLink;
  const shown = (each: StoredRecord): string => served.textOf(each, subresource);
  const before: Before = { record, part: subresource === 'status' ? 'status' : 'spec' };
  const isSame =
    kind.stored === undefined && kind.storedAs === undefined
      ? jsonEquals(strip(updated), strip(old))
      : registry.storesSame(served, before, updated);
  if (isSame && (options.dryRun || !(isOdd || registry.isWrittenAnyway(served, before)))) {
    return { text: shown(record), created: false };
  }
  const gained = kind.defaultsOnRead?.(updated) === true;
  if (options.dryRun) return { text: registry.preview(served, updated, subresource), created: false };
  const written = registry.put(served, updated, before);
  if (gained) registry.lacksDefaults(written);
  return { text: shown(written), created: false };
}

/** Removes empty lists from the metadata of an object, because an empty list counts as absent. */
const strip = (object: ApiObject): ApiObject => ({ ...object, metadata: tidyMeta(object.metadata) });

/**
 * Keeps the old timestamps of managers if a write changes nothing else (`IgnoreManagedFieldsTimestampsTransformer`).
 */
function keepTimes(updated: ApiObject, old: ApiObject): void {
  const { managedFields: next = [], ...metadata } = updated.metadata;
  const { managedFields: before = [], ...oldMetadata } = old.metadata;
  if (!differInTimes(next, before)) return;
  if (jsonEquals(strip({ ...updated, metadata }), strip({ ...old, metadata: oldMetadata }))) {
    updated.metadata.managedFields = before;
  }
}

export const nameless = (name: string): StatusError =>
  badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);

/** Checks the name in the body. The body must contain the name, although the URL contains it too. */
export function checkName({ metadata }: ApiObject, target: Pick<Target, 'name'>): void {
  const name = metadata.name ?? '';
  if (name === '') throw nameless(target.name);
  if (name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
}

function checkIdentity(updated: ApiObject, old: ApiObject, target: Target, patched: boolean): void {
  const meta = updated.metadata;
  matchNamespace(updated, target);
  checkName(updated, target);
  if (!patched && meta.uid !== undefined && meta.uid !== '' && meta.uid !== old.metadata.uid) {
    throw uidConflict(target, meta.uid, old.metadata.uid ?? '');
  }
}

/** @throws StatusError 500 if the resourceVersion is not a 64-bit number */
function checkVersionText(version: string): void {
  if (version !== '' && !/^\d+$/.test(version)) {
    throw internal(`strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`);
  }
  if (version !== '' && BigInt(version) >= 2n ** 64n) {
    throw internal(`strconv.ParseUint: parsing ${JSON.stringify(version)}: value out of range`);
  }
}

/** Compares the resourceVersion in the body with the stored object, after mutating admission. */
function checkVersion(updated: ApiObject, old: ApiObject, { served: { kind }, name }: Target): void {
  const meta = updated.metadata;
  const version = meta.resourceVersion ?? '';
  checkVersionText(version);
  if (version === '' || version === '0') {
    if (kind.requiresResourceVersion === true || kind.custom) {
      // As in kube-apiserver, this error contains the resource instead of the kind.
      throw invalid({ group: kind.group, kind: kind.plural }, name, [
        invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
      ]);
    }
    meta.resourceVersion = old.metadata.resourceVersion ?? '';
  }
  if (meta.resourceVersion !== old.metadata.resourceVersion) throw conflict(kind, name, MODIFIED);
}

const OWN_KEYS: Readonly<Record<string, string>> = {
  '/services': 'services/specs',
  '/endpoints': 'services/endpoints',
  '/nodes': 'minions',
  '/replicationcontrollers': 'controllers',
  'networking.k8s.io/ingresses': 'ingress',
};

/** Returns the error for a failed precondition. */
export const preconditionConflict = (target: Target, what: string, wanted: string, actual: string): StatusError =>
  conflict(
    target.served.kind,
    target.name,
    `StorageError: invalid object, Code: 4, Key: ${storageKey(target)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`,
  );

/** Returns the error for an apply that contains a UID, although the object does not exist. */
const absentUid = ({ served, name }: Target, uid: string): StatusError =>
  conflict(
    served.kind,
    name,
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  );

const uidConflict = (target: Target, wanted: string, actual: string): StatusError =>
  preconditionConflict(target, 'UID', wanted, actual);

/** Returns the key of an object in etcd, which error messages of kube-apiserver contain. */
function storageKey({ served: { kind }, namespace, name }: Target): string {
  const own = OWN_KEYS[`${kind.group}/${kind.plural}`];
  const resource = own ?? (kind.custom ? `${kind.group}/${kind.plural}` : kind.plural);
  return ['/registry', resource, namespace, name].filter((part) => part !== '').join('/');
}

/** Prepares an object for its update: immutable fields keep their old values. */
function prepare(
  registry: Registry,
  call: Call,
  served: ServedKind,
  subresource: string,
  updated: ApiObject,
  old: ApiObject,
  dryRun: boolean,
): void {
  const { kind } = served;
  const meta = updated.metadata;
  const before = old.metadata;
  if ((meta.uid ?? '') === '') meta.uid = before.uid ?? '';
  meta.creationTimestamp = before.creationTimestamp ?? null;
  if (before.generation === undefined) delete meta.generation;
  else meta.generation = before.generation;
  // An update can neither start nor cancel a deletion, so the validation reports a changed deletionTimestamp.
  if (before.deletionTimestamp !== undefined) meta.deletionTimestamp = before.deletionTimestamp;
  if (before.deletionGracePeriodSeconds !== undefined) {
    meta.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds;
  }
  if (subresource === 'status') keepAllButStatus(served, updated, old);
  else if (subresource === '' && kind.subresources?.status === true) {
    if (old.status === undefined) delete updated.status;
    else updated.status = old.status;
  }
  const wasChanged = kind.generationCountsDropped === true && bumps(served, updated, old);
  kind.prepareForUpdate?.(updated, old, strategyContext(registry, call, subresource, dryRun));
  if (
    (kind.hasGeneration === true || kind.custom) &&
    !QUIET_SUBRESOURCES.has(subresource) &&
    (wasChanged || bumps(served, updated, old))
  ) {
    updated.metadata.generation = (before.generation ?? 0) + 1;
  }
}

/** A write of the status never changes the metadata of these built-in kinds. The same is true for custom kinds. */
const METADATA_STAYS: ReadonlySet<string> = new Set([
  'flowcontrol.apiserver.k8s.io/flowschemas',
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
]);
const CLIENTS_FIELDS = ['labels', 'annotations', 'finalizers', 'ownerReferences', 'deletionTimestamp'] as const;
type Kept = (typeof CLIENTS_FIELDS)[number];
/**
 * The metadata fields that a write of the status leaves unchanged, for other built-in kinds. Source:
 * `ResetObjectMetaForStatus` and the strategies of the kinds.
 */
const FIELDS_STAY: ReadonlyMap<string, readonly Kept[]> = new Map<string, readonly Kept[]>([
  ['admissionregistration.k8s.io/validatingadmissionpolicies', CLIENTS_FIELDS],
  ['apiregistration.k8s.io/apiservices', ['labels', 'annotations', 'finalizers', 'ownerReferences']],
  ['networking.k8s.io/servicecidrs', CLIENTS_FIELDS],
  ['resource.k8s.io/resourceclaims', CLIENTS_FIELDS],
  ['storage.k8s.io/volumeattachments', CLIENTS_FIELDS],
  ['apps/deployments', ['labels']],
  ['/pods', ['ownerReferences', 'deletionTimestamp']],
]);

function copyField<Field extends Kept>(to: ObjectMeta, from: ObjectMeta, field: Field): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else to[field] = value;
}

/** Restores everything except the status. */
function keepAllButStatus({ kind }: ServedKind, updated: ApiObject, old: ApiObject): void {
  const { status } = updated;
  for (const field of Object.keys(updated)) {
    if (field !== 'metadata' && field !== 'status' && !Object.hasOwn(old, field)) delete updated[field];
  }
  for (const [field, value] of Object.entries(old)) {
    if (field !== 'metadata' && field !== 'status') updated[field] = value;
  }
  if (status === undefined) delete updated.status;
  const id = `${kind.group}/${kind.plural}`;
  for (const field of FIELDS_STAY.get(id) ?? []) copyField(updated.metadata, old.metadata, field);
  if (!kind.custom && !METADATA_STAYS.has(id)) return;
  const { managedFields, resourceVersion } = updated.metadata;
  updated.metadata = { ...old.metadata };
  if (managedFields !== undefined) updated.metadata.managedFields = managedFields;
  if (resourceVersion !== undefined) updated.metadata.resourceVersion = resourceVersion;
}

/** Returns whether a body contains an empty list or map. Stored objects never contain one, so the write is a change. */
function emptyIsNew(updated: ApiObject): boolean {
  const { metadata: _metadata, status: _status, ...body } = updated;
  return isGivenEmpty(updated) || holdsEmpties(body);
}

/** Returns whether a write increases the generation. Changes of the metadata leave the generation unchanged. */
function bumps({ kind }: ServedKind, updated: ApiObject, old: ApiObject): boolean {
  const keepsStatus = kind.subresources?.status === true || !kind.custom;
  const body = ({ metadata: _metadata, status, ...rest }: ApiObject) => (keepsStatus ? rest : { ...rest, status });
  if (!jsonEquals(body(updated), body(old))) return true;
  if (kind.generationTellsEmpty === true && emptyIsNew(updated)) return true;
  const { generationCounts: part } = kind;
  return part !== undefined && !jsonEquals(updated.metadata[part] ?? {}, old.metadata[part] ?? {});
}

function causesOf(
  registry: Registry,
  call: Call,
  served: ServedKind,
  subresource: string,
  updated: ApiObject,
  old: ApiObject,
): StatusCause[] {
  const context = strategyContext(registry, call, subresource);
  const meta = metaUpdateCauses(served.kind, updated.metadata, old.metadata, subresource);
  return [
    ...meta,
    ...(served.kind.validateUpdate?.(updated, old, context) ?? []),
    ...schemaCauses(served, updated, old, meta, subresource, call.warn),
  ];
}

/**
 * Returns whether an update completes a deletion. The object must have no finalizers and no grace period (pods) any
 * more. A namespace must also have no finalizers in its spec.
 */
function isFinished(updated: ApiObject, old: ApiObject): boolean {
  const { metadata } = updated;
  if (old.metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
  if ((old.metadata.deletionGracePeriodSeconds ?? 0) !== 0) return false;
  return !hasSpecFinalizers(updated);
}

/** Returns whether an object has finalizers in its spec, which only namespaces can have. */
export function hasSpecFinalizers(object: ApiObject): boolean {
  if (object.kind !== 'Namespace' || object.apiVersion !== 'v1') return false;
  const spec = object.spec as { finalizers?: unknown[] } | undefined;
  return (spec?.finalizers ?? []).length > 0;
}
