import { apiVersionOf, type JsonSchema, type KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../apimachinery/objects/object.ts';
import { nodeOf } from '../../schema/model/node.ts';
import type { Scope } from './compare.ts';
import {
  entryTime,
  isReadable,
  isReset,
  isSameManager,
  type Ownership,
  readEntries,
  writeEntries,
} from './fields/entries.ts';
import { difference, EMPTY_SET, isEmptySet, union } from './fields/fieldSet.ts';
import { emptyObject } from './fields/skeleton.ts';
import { isTyped } from './fields/typed.ts';
import { type ChangesIn, changesByVersion, type VersionOf } from './versions.ts';

export interface UpdateInput {
  readonly live?: ApiObject | undefined;
  readonly updated: ApiObject;
  readonly manager: string;
  readonly schema?: JsonSchema | undefined;
  readonly subresource: string;
  readonly now: Date;
  readonly kind: KindDefinition;
  readonly versionOf?: VersionOf;
}

const NOTHING: ReadonlySet<string> = new Set();
const STATUS: ReadonlySet<string> = new Set(['status']);
const SPEC: ReadonlySet<string> = new Set(['spec']);
const ALL_META: ReadonlySet<string> = new Set(['spec', 'metadata']);

/** A write of the status never records a manager for the spec. */
const STATUS_RESETS: ReadonlyMap<string, Scope> = new Map<string, Scope>([
  ...[
    'admissionregistration.k8s.io/validatingadmissionpolicies',
    'apiregistration.k8s.io/apiservices',
    'flowcontrol.apiserver.k8s.io/flowschemas',
    'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
    'networking.k8s.io/servicecidrs',
    'resource.k8s.io/resourceclaims',
    'storage.k8s.io/volumeattachments',
  ].map((id): [string, Scope] => [id, { ignored: ALL_META }]),
  ['apps/deployments', { ignored: SPEC, ignoredMeta: new Set(['labels']) }],
  ['/pods', { ignored: SPEC, ignoredMeta: new Set(['deletionTimestamp', 'ownerReferences']) }],
  ['certificates.k8s.io/certificatesigningrequests', { ignored: SPEC, ignoredStatus: new Set(['conditions']) }],
]);

const MAIN_RESETS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  // The spec of a CertificateSigningRequest is immutable, so an update records managers only for the metadata.
  ['certificates.k8s.io/certificatesigningrequests', new Set(['spec', 'status'])],
]);

/**
 * Returns the fields that the endpoint of a request does not write. As in kube-apiserver, the main endpoint of a custom
 * kind ignores the status only in the requested version. In each version that has a status endpoint, this endpoint
 * ignores all other fields.
 */
export function scopeOf(kind: KindDefinition, subresource: string, requested: KindDefinition = kind): Scope {
  const hasStatus = kind.subresources?.status === true;
  if (kind.custom && kind !== requested && !(subresource === 'status' && hasStatus)) return { ignored: NOTHING };
  const id = `${kind.group}/${kind.plural}`;
  if (subresource === 'status')
    return kind.custom ? { ignored: ALL_META } : (STATUS_RESETS.get(id) ?? { ignored: SPEC });
  if (subresource === 'approval') return { ignored: SPEC, ignoredStatus: new Set(['certificate']) };
  if (subresource === 'finalize') return { ignored: STATUS };
  if (subresource !== '') return { ignored: NOTHING };
  return { ignored: MAIN_RESETS.get(id) ?? (hasStatus ? STATUS : NOTHING) };
}

/**
 * Returns the managedFields entries from the client, or the stored entries if the client sent none. The value `[{}]`
 * removes all entries.
 */
function entriesOf(input: Pick<UpdateInput, 'live' | 'updated' | 'subresource'>): readonly ManagedFieldsEntry[] {
  const stored = input.live?.metadata.managedFields ?? [];
  const sent = input.updated.metadata.managedFields;
  if (input.subresource !== '' || sent === undefined || sent === stored) return stored;
  if (isReset(sent)) return [];
  // If the client sent an unreadable entry, the server ignores all entries from the client.
  return sent.length > 0 && sent.every(isReadable) ? sent : stored;
}

const FROM_EXTENSIONS = new Set(['Deployment', 'DaemonSet', 'ReplicaSet', 'Ingress', 'NetworkPolicy']);

/**
 * Returns whether an API version belongs to the kind. kube-apiserver cannot compare objects in API versions of other
 * kinds. Events exist in two groups, so a write in one group removes the entries of the other group.
 */
export function isOfKind({ apiVersion = '' }: { readonly apiVersion?: string }, kind: KindDefinition): boolean {
  if (kind.custom) return kind.versions?.some((version) => apiVersion === `${kind.group}/${version}`) !== false;
  const slash = apiVersion.indexOf('/');
  const own = slash < 0 ? '' : apiVersion.slice(0, slash);
  return own === kind.group || (own === 'extensions' && FROM_EXTENSIONS.has(kind.kind));
}

const withoutEntry = ({ entry: _stale, ...facts }: Ownership): Ownership => facts;

/** Removes, from the fields of a manager, the paths that another write has changed or removed. */
export function withoutChanges(owner: Ownership, changesIn: ChangesIn): Ownership {
  const { changed = EMPTY_SET, removed = EMPTY_SET } = changesIn(owner.apiVersion);
  const set = difference(difference(owner.set, changed), removed);
  return set === owner.set ? owner : { ...withoutEntry(owner), set };
}

/** Records a write in the managedFields. */
export function recordUpdate(
  owners: readonly Ownership[],
  changesIn: ChangesIn,
  writer: Omit<Ownership, 'set' | 'entry'>,
): Ownership[] {
  const { changed = EMPTY_SET } = changesIn(writer.apiVersion);
  const next: Ownership[] = [];
  let taken = changed;
  for (const owner of owners) {
    const rest = withoutChanges(owner, changesIn);
    if (!isEmptySet(changed) && isSameManager(owner, writer)) taken = union(rest.set, taken);
    else next.push(rest);
  }
  if (!isEmptySet(taken)) next.push({ ...writer, set: taken });
  return next;
}

/** Returns the parts of an object that are equal in all versions. For a built-in kind, only the metadata is equal. */
const shared = (object: ApiObject | undefined, { custom }: KindDefinition): unknown =>
  custom || object === undefined ? object : { metadata: object.metadata };

/**
 * Returns whether the object is valid in the API version of each manager. If kube-apiserver cannot convert the object
 * to one of these versions, the object loses all managers.
 */
function isTypedInAll({ live, updated, kind, versionOf }: UpdateInput, owners: readonly Ownership[]): boolean {
  const versions = new Set(owners.map(({ apiVersion }) => apiVersion));
  versions.delete(apiVersionOf(kind));
  return [...versions].every((apiVersion) => {
    const schema = versionOf?.(apiVersion)?.schema;
    if (schema === undefined) return true;
    const node = kind.custom ? nodeOf(schema) : undefined;
    return [live, updated].every((object) => isTyped(shared(object, kind), node, true, true));
  });
}

/** Returns the managedFields entries after a write. A write without changes keeps the stored entries. */
export function trackUpdate(input: UpdateInput): ManagedFieldsEntry[] {
  const { live, updated, kind } = input;
  const given = entriesOf(input);
  // As with `skipNonAppliedManager` in kube-apiserver, an object without managers gets no manager until its next apply.
  if (given.length === 0 && live?.metadata.uid !== undefined) return [];
  // If a patch has changed the kind of an object, kube-apiserver cannot compare the versions, and removes all managers.
  if (kind.custom && updated.kind !== kind.kind) return [];
  const areOfKind = given.every((entry) => isOfKind(entry, kind));
  // If one entry has the API version of another kind, the server removes all managers of a custom object.
  if (kind.custom && !areOfKind) return [];
  const entries = areOfKind ? given : given.filter((entry) => isOfKind(entry, kind));
  const node = input.schema === undefined ? undefined : nodeOf(input.schema);
  const scope = (of: KindDefinition): Scope => scopeOf(of, input.subresource, kind);
  const changesIn = changesByVersion(live ?? emptyObject(kind), updated, kind, scope, input.versionOf);
  const changes = changesIn(apiVersionOf(kind));
  // The server formats entries from the client again. The result has sorted fields, and no entry for a manager without
  // fields.
  const isStored = given === (live?.metadata.managedFields ?? given);
  const before = isStored ? readEntries(entries) : readEntries(entries).map(withoutEntry);
  if (!isTypedInAll(input, before)) return [];
  const isForeign = kind.inVersion !== undefined && before.some(({ apiVersion }) => apiVersion !== apiVersionOf(kind));
  if (changes.changed === undefined && changes.removed === undefined && !isForeign) {
    // The server checks the types of all fields, including fields that the endpoint does not write. A custom object
    // gets the defaults of its storage version, which may not match the requested version.
    if ((input.subresource !== '' || kind.inVersion !== undefined) && !isTyped(updated, node, true)) return [];
    const areUnchanged = isStored && before.length === entries.length;
    return areUnchanged ? (entries as ManagedFieldsEntry[]) : writeEntries(before);
  }
  // As in kube-apiserver, an object that does not match its schema loses its managers. The stored object of a custom
  // kind may not match another version, or a schema that has changed since the last write.
  if (!isTyped(updated, node, true) || (kind.custom && !isTyped(live, node, true))) return [];
  const owners = recordUpdate(before, changesIn, {
    manager: input.manager,
    operation: 'Update',
    apiVersion: apiVersionOf(kind),
    subresource: input.subresource,
    time: entryTime(input.now),
  });
  return writeEntries(owners);
}
