import { alreadyExists, badRequest, internal, invalid, shownKind } from '../../apimachinery/errors/errors.ts';
import { refusal } from '../../apimachinery/http/refusal.ts';
import { keepEmpties } from '../../apimachinery/objects/empties.ts';
import type { KindDefinition, StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import { formatTime, tidyMeta } from '../../apimachinery/objects/object-text.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { isTyped, trackUpdate, type VersionOf } from '../../patch/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import { dedupOwners, finalizerWarnings, generalPrefixCauses, metaCauses } from '../../resources/metadata.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Call, Registry, Target, Written } from '../../resources/registry.ts';
import { nodeOf } from '../../schema/model/node.ts';
import { checkCustomType } from '../bodies/type-meta.ts';
import { schemaCauses } from './schema-causes.ts';

/**
 * Resources whose new objects the server stores without defaults. For example, kube-apiserver stores a new claim
 * without a phase.
 */
const STORED_WITHOUT_DEFAULTS: ReadonlySet<string> = new Set(['/persistentvolumeclaims']);

/** The characters of generated suffixes. Vowels and similar digits are excluded. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_PREFIX = 63 - SUFFIX_LENGTH;
const NAME_ATTEMPTS = 8;

function generateName(prefix: string, random: () => number): string {
  const start = prefix.slice(0, MAX_GENERATED_PREFIX);
  const letter = () => SUFFIX_LETTERS.charAt(Math.floor(random() * SUFFIX_LETTERS.length));
  return start + Array.from({ length: SUFFIX_LENGTH }, letter).join('');
}

/** Adds the namespace in the path to a body without a namespace. */
export function matchNamespace(object: ApiObject, target: Target): void {
  const { metadata } = object;
  if (!target.served.kind.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = target.namespace;
  else if (metadata.namespace !== target.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/**
 * Removes duplicate owner references from a new object, with a warning.
 * @throws StatusError 400 if the namespace or name differs from the path
 */
export function receive(object: ApiObject, target: Target, { warn }: Pick<Call, 'warn'>): void {
  matchNamespace(object, target);
  const repeated = dedupOwners(object);
  if (repeated !== undefined) warn(repeated);
}

/** Returns the other API versions of a kind. A field manager may have written its fields in one of these versions. */
export const versionsOf = (registry: Registry, kind: KindDefinition): VersionOf =>
  kind.custom
    ? (apiVersion) => kind.inVersion?.(apiVersion)
    : (apiVersion) => registry.kinds.byKind(apiVersion, kind.kind)?.kind;

export function track(
  registry: Registry,
  served: ServedKind,
  live: ApiObject | undefined,
  updated: ApiObject,
  options: Pick<WriteOptions, 'fieldManager'>,
  subresource: string,
): void {
  const { kind } = served;
  const ignoresStatus = subresource === '' && kind.subresources?.status === true;
  const seen = (object: ApiObject): ApiObject => {
    // In another version of a custom kind, a client may write the status together with the spec, so the status stays.
    if (!ignoresStatus || object.status === undefined || kind.inVersion !== undefined) return object;
    const { status: _status, ...rest } = object;
    return keepEmpties(rest, object);
  };
  if (ignoresStatus && !isTypedStatus(served, updated.status)) {
    updated.metadata.managedFields = [];
    return;
  }
  updated.metadata.managedFields = trackUpdate({
    live: live && seen(live),
    updated: seen(updated),
    manager: options.fieldManager,
    schema: kind.schema,
    subresource,
    now: registry.now(),
    kind,
    versionOf: versionsOf(registry, kind),
  });
}

/** Returns whether the status has valid types. */
const isTypedStatus = ({ kind: { schema } }: ServedKind, status: unknown): boolean =>
  status === undefined || schema === undefined || isTyped(status, nodeOf(schema).properties.get('status'));

/** Stores the status of an object. The server changes this object because of a request for another object. */
export function putStatus(registry: Registry, served: ServedKind, live: ApiObject, status: ApiObject['status']): void {
  const updated = { ...live, metadata: { ...live.metadata }, status };
  track(registry, served, live, updated, { fieldManager: 'kube-apiserver' }, 'status');
  registry.put(served, updated);
}

export const strategyContext = (
  registry: Registry,
  { user }: Call,
  subresource: string,
  dryRun = false,
): StrategyContext => ({
  now: registry.now(),
  subresource,
  userName: user.name,
  dryRun,
  newUid: () => registry.uid(),
  stored: (resource) => registry.store.list(resource).records.map(({ json }) => JSON.parse(json) as ApiObject),
});

function causesOf(
  registry: Registry,
  call: Call,
  served: ServedKind,
  object: ApiObject,
  subresource: string,
): StatusCause[] {
  const context = strategyContext(registry, call, subresource);
  const rules = served.kind.validate?.(object, context) ?? [];
  if (served.kind.assessesMetaLast === true && rules.length > 0) return rules;
  const meta = metaCauses(served.kind, object.metadata);
  const causes = [...meta, ...rules, ...schemaCauses(served, object, undefined, meta, subresource, call.warn)];
  return causes.length > 0 ? causes : generalPrefixCauses(object.metadata);
}

const SYSTEM_FIELDS = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'selfLink',
  'uid',
] as const satisfies readonly (keyof ObjectMeta)[];

const FILLED_IN = ['creationTimestamp', 'uid'] as const;

/** Removes metadata fields that a client cannot set. An update that creates an object keeps a deletionTimestamp. */
export function dropSystemFields({ metadata }: ApiObject): void {
  for (const field of SYSTEM_FIELDS) delete metadata[field];
}

/** Sets the metadata fields of a new object, before the strategy of the kind prepares the object. */
function prepareMeta(registry: Registry, served: ServedKind, object: ApiObject, uid: string): void {
  const { metadata } = object;
  metadata.uid = uid;
  metadata.creationTimestamp = formatTime(registry.now());
  if (served.kind.hasGeneration === true || served.kind.custom) metadata.generation = 1;
  if (served.kind.custom && served.kind.subresources?.status === true) delete object.status;
}

/** Adds the default status of a custom object, as kube-apiserver does for each object that it reads from the store. */
function gainsStatus(served: ServedKind, object: ApiObject): boolean {
  if (served.kind.subresources?.status !== true) return false;
  served.schema?.setDefaults(object);
  return object.status !== undefined;
}

/** Returns whether the metadata contains a resourceVersion. */
const namesVersion = ({ resourceVersion = '' }: ObjectMeta): boolean =>
  /^\d+$/.test(resourceVersion) && BigInt(resourceVersion) > 0n && BigInt(resourceVersion) < 2n ** 64n;

/**
 * Checks the permission to create, if an update or an apply creates the object.
 * @throws StatusError 403 without the permission
 */
function authorizeCreation(registry: Registry, { user }: Call, { served, namespace, name, subresource }: Target): void {
  const { group, version, plural } = served.kind;
  const access = { user, verb: 'create', path: '', group, version, resource: plural, subresource, namespace, name };
  const { allowed, reason } = registry.authorize(access);
  if (!allowed) throw refusal(access, reason);
}

interface CreateWays {
  /** Whether the object already contains its managedFields, as after a server-side apply. */
  readonly managed?: boolean;
  /** Whether the request is an update of a missing object. */
  readonly byUpdate?: boolean;
  readonly uid?: string | undefined;
}

/**
 * Creates an object from a decoded body that contains the defaults.
 * @throws StatusError 400, 403, 409, 422 or 500 if the object cannot be created
 */
export async function createObject(
  registry: Registry,
  call: Call,
  target: Target,
  object: ApiObject,
  options: WriteOptions,
  { managed = false, byUpdate = false, uid }: CreateWays = {},
): Promise<Written> {
  const { served } = target;
  const { kind } = served;
  const { metadata } = object;
  receive(object, target, call);
  if (!byUpdate) dropSystemFields(object);
  object.metadata = tidyMeta(metadata);
  // The server sets the `FILLED_IN` fields after mutating admission, so no manager gets the values from the body.
  for (const field of FILLED_IN) delete object.metadata[field];
  if (!managed) track(registry, served, undefined, object, options, target.subresource);

  const given = metadata.name ?? '';
  const attributes = registry.attributes(call, target, {
    operation: 'CREATE',
    object,
    old: undefined,
    dryRun: options.dryRun,
    options: options.given,
    name: given,
  });
  const admitted = (await registry.admission.admit(attributes)) ?? object;
  matchNamespace(admitted, target);
  const { subresource } = target;
  const context = strategyContext(registry, call, subresource, options.dryRun);
  prepareMeta(registry, served, admitted, uid ?? registry.uid());

  const { generateName: prefix = '' } = admitted.metadata;
  const generated = (admitted.metadata.name ?? '') === '' && prefix !== '';
  for (let attempt = 1; ; attempt++) {
    if (generated) admitted.metadata.name = generateName(prefix, registry.random);
    // The strategy may need the name, for example for the pod labels of a Job.
    kind.prepareForCreate?.(admitted, context);
    if (kind.custom) checkCustomType(admitted, served, undefined);
    const causes = causesOf(registry, call, served, admitted, '');
    if (causes.length > 0) throw invalid(shownKind(kind), admitted.metadata.name ?? '', causes);
    for (const warning of attempt === 1 ? (kind.warnings?.(admitted, undefined) ?? []) : []) call.warn(warning);
    if (kind.custom) for (const warning of finalizerWarnings(admitted.metadata, undefined)) call.warn(warning);
    if (byUpdate) authorizeCreation(registry, call, target);
    await registry.admission.validate({ ...attributes, name: admitted.metadata.name ?? '', object: admitted });
    // The store checks the resourceVersion before it checks the name. A dry run does not write to the store.
    if (!options.dryRun && namesVersion(admitted.metadata)) {
      throw internal('resourceVersion should not be set on objects to be created');
    }
    const name = admitted.metadata.name ?? '';
    const existing = registry.store.get(served.resource, admitted.metadata.namespace ?? '', name);
    if (existing === undefined) break;
    if (generated && attempt < NAME_ATTEMPTS) continue;
    const dying = registry.parse(served, existing).metadata.deletionTimestamp !== undefined;
    throw alreadyExists(kind, name, dying ? 'object is being deleted: ' : '');
  }
  const gained = kind.custom ? gainsStatus(served, admitted) : kind.defaultsOnRead?.(admitted) === true;
  // When an object is created, the store removes `selfLink` and `resourceVersion`.
  if (options.dryRun) return { text: registry.preview(served, admitted), created: true };
  delete admitted.metadata.selfLink;
  delete admitted.metadata.resourceVersion;
  const record = registry.put(served, admitted);
  if (gained || STORED_WITHOUT_DEFAULTS.has(served.resource)) registry.lacksDefaults(record);
  return { text: served.textOf(record), created: true };
}
