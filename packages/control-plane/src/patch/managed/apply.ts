import { equalJson, isRecord } from '../../apimachinery/objects/json-value.ts';
import { apiVersionOf, type JsonSchema, type KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { nodeOf, type SchemaNode } from '../../schema/model/node.ts';
import { AppliedReader } from './appliedSet.ts';
import { compareObjects, type Scope } from './compare.ts';
import { type Conflict, conflictError } from './conflicts.ts';
import { entryTime, isSameManager, type Ownership, readEntries, writeEntries } from './fields/entries.ts';
import {
  difference,
  EMPTY_SET,
  type FieldSet,
  intersection,
  isEmptySet,
  parseFields,
  sameSet,
  union,
} from './fields/fieldSet.ts';
import { emptyObject } from './fields/skeleton.ts';
import { isTyped } from './fields/typed.ts';
import { KUBECTL, refreshLastApplied, takeableFields } from './lastApplied.ts';
import { mergeValues } from './merge.ts';
import { pruneDropped } from './prune.ts';
import { isOfKind, recordUpdate, scopeOf, withoutChanges } from './update.ts';
import { type ChangesIn, changesByVersion, type VersionOf } from './versions.ts';

export interface ApplyInput {
  readonly live?: ApiObject | undefined;
  readonly applied: ApiObject;
  readonly manager: string;
  /**
   * Whether the apply may take over fields of other managers. Without `force`, an apply of such fields fails with a
   * conflict.
   */
  readonly force: boolean;
  readonly schema?: JsonSchema | undefined;
  readonly subresource: string;
  readonly now: Date;
  readonly kind: KindDefinition;
  /** Returns the kind in another API version, because a manager may have used another version. */
  readonly versionOf?: VersionOf;
}

const BEFORE_FIRST_APPLY = 'before-first-apply';

/** @throws StatusError 500 if the applied configuration does not match the schema */
export function checkTyped(applied: ApiObject, { schema }: Pick<ApplyInput, 'schema'>): void {
  readApplied(applied, schema === undefined ? undefined : nodeOf(schema), { ignored: new Set() });
}

function detailOf({ errors }: AppliedReader): string | undefined {
  return errors.length > 1 ? `errors:\n${errors.map((error) => `  ${error}`).join('\n')}` : errors[0];
}

/**
 * Validates a custom object with the schema of each version in which a manager owns fields.
 * @throws StatusError 500 if the object does not match a schema
 */
function checkVersions(object: ApiObject, owners: readonly Ownership[], input: ApplyInput, prefix: string): void {
  const { kind, versionOf } = input;
  if (!kind.custom) return;
  for (const apiVersion of new Set(owners.map((owner) => owner.apiVersion))) {
    const schema = apiVersion === apiVersionOf(kind) ? undefined : versionOf?.(apiVersion)?.schema;
    if (schema === undefined) continue;
    const reader = new AppliedReader({ ignored: new Set() });
    reader.read(object, nodeOf(schema));
    const detail = detailOf(reader);
    if (detail !== undefined) throw new StatusError({ code: 500, message: `${prefix}${detail}` });
  }
}

function readApplied(applied: ApiObject, node: SchemaNode | undefined, scope: Scope): FieldSet {
  const reader = new AppliedReader(scope);
  const set = reader.read(applied, node);
  const detail = detailOf(reader);
  if (detail === undefined) return set;
  // As in kube-apiserver, a name or namespace that is not a string counts as an empty string.
  const meta: Readonly<Record<string, unknown>> = { ...applied.metadata };
  const [namespace, name] = [meta.namespace, meta.name].map((each) => (typeof each === 'string' ? each : ''));
  const { apiVersion = '' } = applied as Partial<ApiObject>;
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  throw new StatusError({
    code: 500,
    message: `failed to create typed patch object (${namespace}/${name}; ${version}, Kind=${applied.kind}): ${detail}`,
  });
}

/** Returns the error for a stored object that does not match its schema, so that the server cannot merge it. */
function untypedLive({ apiVersion, kind, metadata: { namespace = '', name = '' } }: ApiObject): StatusError {
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  const message = `failed to create typed live object (${namespace}/${name}; ${version}, Kind=${kind}): it does not fit the schema`;
  return new StatusError({ code: 500, message });
}

/**
 * Returns the applied configuration without metadata that no manager can own. Fields of other endpoints stay, because
 * the kind resets them later.
 */
function relevant(applied: ApiObject): ApiObject {
  const { managedFields, creationTimestamp, ...metadata } = applied.metadata ?? {};
  if (Array.isArray(managedFields) && managedFields.every(isRecord)) {
    throw new StatusError({ code: 400, reason: 'BadRequest', message: 'metadata.managedFields must be nil' });
  }
  // If the value of `managedFields` is not a list of maps, the value stays, because `AppliedReader` refuses it later.
  const copy: ApiObject = { ...applied, metadata: managedFields == null ? metadata : { ...metadata, managedFields } };
  // Older versions of kubectl wrote `creationTimestamp: null` into every manifest.
  if (creationTimestamp != null) copy.metadata.creationTimestamp = creationTimestamp;
  return copy;
}

/** If a custom kind has a status subresource, an apply to the main resource loses the status. */
function made(applied: ApiObject, { subresource, kind }: ApplyInput): ApiObject {
  if (subresource !== '' || !kind.custom || kind.subresources?.status !== true) return applied;
  const { status: _status, ...rest } = applied;
  return rest as ApiObject;
}

/** Returns the managers of an object. Without managers, `before-first-apply` owns its fields. */
function ownersOf(input: ApplyInput, node: SchemaNode | undefined, scope: Scope): Ownership[] {
  const { live, kind } = input;
  const owners = readEntries(live?.metadata.managedFields);
  if (owners.length > 0 && !kind.custom) return owners.filter((owner) => isOfKind(owner, kind));
  if (live === undefined || owners.length > 0) return owners;
  const changes = compareObjects(emptyObject(kind), live, node, scope);
  return recordUpdate([], () => changes, {
    manager: BEFORE_FIRST_APPLY,
    operation: 'Update',
    apiVersion: apiVersionOf(kind),
    subresource: input.subresource,
    time: entryTime(input.now),
  });
}

const LAST_VERSION = 'failed to prune fields: failed to convert merged object to last applied version: ';

const NAMED = parseFields({ 'f:metadata': { 'f:name': {} } });

const SYSTEM_FIELDS = [
  'name',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
] as const;

function withSystemFields(
  metadata: ApiObject['metadata'],
  current: ApiObject['metadata'],
  applied: ApiObject['metadata'],
): ApiObject['metadata'] {
  const kept: Record<string, unknown> = { ...metadata };
  for (const field of SYSTEM_FIELDS) {
    const value = applied[field] ?? current[field];
    if (value !== undefined) kept[field] = value;
  }
  return kept as ApiObject['metadata'];
}

function conflictsOf(others: readonly Ownership[], changesIn: ChangesIn): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const owner of others) {
    const fields = intersection(owner.set, changesIn(owner.apiVersion).changed ?? EMPTY_SET);
    if (!isEmptySet(fields)) conflicts.push({ owner, fields });
  }
  return conflicts;
}

/** Removes the fields in `takeable` from the conflicts, because the manager may take over these fields. */
function beyond(conflicts: readonly Conflict[], takeable: FieldSet): Conflict[] {
  return conflicts
    .map(({ owner, fields }) => ({ owner, fields: difference(fields, takeable) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/**
 * Merges an applied configuration into the live object. If the last apply of the manager contained a field that no
 * manager owns now, the function removes the field.
 * @throws StatusError 409 with a cause for each field of another manager, unless `force` is set. The code is 500 if the
 * configuration does not match the schema, and 400 if the configuration contains managedFields.
 */
export function serverSideApply(input: ApplyInput): ApiObject {
  const { live, kind, manager, subresource } = input;
  const node = input.schema === undefined ? undefined : nodeOf(input.schema);
  const scope = scopeOf(kind, subresource);
  const applied = relevant(input.applied);
  const claimed = readApplied(applied, node, scope);
  if (live !== undefined && !isTyped(live, node, true)) throw untypedLive(live);
  const base = live ?? { apiVersion: applied.apiVersion, kind: applied.kind, metadata: {} };
  const self = { manager, operation: 'Apply' as const, apiVersion: apiVersionOf(kind), subresource };
  const owners = ownersOf(input, node, scope);
  const previous = owners.find((owner) => isSameManager(owner, self));
  const others = owners.filter((owner) => owner !== previous);

  const { managedFields: _entries, ...metadata } = base.metadata;
  const current: ApiObject = { ...base, metadata };
  if (live !== undefined) checkVersions(current, owners, input, '');
  let result = mergeValues(current, live === undefined ? made(applied, input) : applied, node, true) as ApiObject;
  if (previous !== undefined) {
    if (!isEmptySet(previous.set)) checkVersions(result, [previous], input, LAST_VERSION);
    const owned = others.reduce((all, owner) => union(all, owner.set), union(claimed, NAMED));
    result = pruneDropped(result, previous.set, owned, node, true) as ApiObject;
    result.metadata = withSystemFields(result.metadata ?? {}, current.metadata, applied.metadata);
  }

  checkVersions(result, others, input, 'failed to convert new object: ');
  const changesIn = changesByVersion(current, result, kind, (of) => scopeOf(of, subresource, kind), input.versionOf);
  const conflicts = conflictsOf(others, changesIn);
  if (conflicts.length > 0 && !input.force) {
    const takeable = manager === KUBECTL && live !== undefined ? takeableFields(live, node, scope) : EMPTY_SET;
    const refused = beyond(conflicts, takeable);
    if (refused.length > 0) throw conflictError(refused);
  }
  const remaining = others.map((owner) => withoutChanges(owner, changesIn));
  // If an apply changes nothing, its managedFields entry keeps the old time. In an apply, a creationTimestamp of null
  // counts as a change.
  const isNoop =
    equalJson(current, result) && !(live !== undefined && input.applied.metadata?.creationTimestamp === null);
  const time = isNoop ? previous?.time : entryTime(input.now);
  const isSame = previous?.time === time && previous?.apiVersion === self.apiVersion && sameSet(previous.set, claimed);
  const entries = writeEntries([...remaining, isSame ? previous : { ...self, time, set: claimed }]);
  const { managedFields: _old, ...kept } = result.metadata;
  const done: ApiObject = { ...result, metadata: entries.length === 0 ? kept : { ...kept, managedFields: entries } };
  // The server updates the annotation of the last client-side apply even if another manager owns the annotation.
  if (manager === KUBECTL && live !== undefined) refreshLastApplied(done, input.applied);
  return done;
}
