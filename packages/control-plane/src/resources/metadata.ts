import { forbiddenValue, invalidValue, requiredValue, tooLong } from '../apimachinery/errors/errors.ts';
import {
  labelProblems,
  labelValueProblems,
  pathPrefixProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '../apimachinery/errors/names.ts';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject, ObjectMeta, OwnerReference } from '../apimachinery/objects/object.ts';
import { jsonEquals } from '../apimachinery/objects/object-text.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';

const ANNOTATIONS_LIMIT = 256 * 1024;
const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

function labelCauses(labels: Readonly<Record<string, string>> | undefined): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    for (const problem of qualifiedNameProblems(key)) causes.push(invalidValue('metadata.labels', key, problem));
    for (const problem of labelValueProblems(value)) causes.push(invalidValue('metadata.labels', value, problem));
  }
  return causes;
}

function annotationCauses(annotations: Readonly<Record<string, string>> | undefined): StatusCause[] {
  const causes: StatusCause[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    // The function validates the keys in lower case, because the first versions of Kubernetes ignored the case of
    // annotations.
    for (const problem of qualifiedNameProblems(key.toLowerCase())) {
      causes.push(invalidValue('metadata.annotations', key, problem));
    }
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_LIMIT) causes.push(tooLong('metadata.annotations', ANNOTATIONS_LIMIT));
  return causes;
}

/** Returns whether an apiVersion contains a version. */
const hasVersion = (apiVersion: string): boolean => /^([^/]*\/)?[^/]+$/.test(apiVersion);

const ownerShown = (owner: OwnerReference): OwnerReference => owner;

function ownerCauses(owners: readonly OwnerReference[] | undefined): StatusCause[] {
  const causes: StatusCause[] = [];
  const path = 'metadata.ownerReferences';
  let controller: OwnerReference | undefined;
  for (const owner of owners ?? []) {
    if (!hasVersion(owner.apiVersion ?? '')) {
      causes.push(invalidValue(`${path}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty'));
    }
    if ((owner.kind ?? '') === '') causes.push(invalidValue(`${path}.kind`, '', 'must not be empty'));
    if ((owner.name ?? '') === '') causes.push(invalidValue(`${path}.name`, '', 'must not be empty'));
    if ((owner.uid ?? '') === '') causes.push(invalidValue(`${path}.uid`, '', 'must not be empty'));
    if (owner.kind === 'Event' && owner.apiVersion === 'v1') {
      causes.push(invalidValue(path, ownerShown(owner), '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (owner.controller !== true) continue;
    if (controller !== undefined) {
      causes.push(
        invalidValue(
          path,
          owners,
          `Only one reference can have Controller set to true. Found "true" in references for ${controller.kind}/${controller.name} and ${owner.kind}/${owner.name}`,
        ),
      );
    }
    controller = owner;
  }
  return causes;
}

function finalizerNameCauses(finalizers: readonly string[]): StatusCause[] {
  return finalizers.flatMap((finalizer) =>
    qualifiedNameProblems(finalizer).map((problem) => invalidValue('metadata.finalizers', finalizer, problem)),
  );
}

/** Validates the finalizers of a built-in kind. */
function finalizerDomainCauses(finalizers: readonly string[]): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [index, finalizer] of finalizers.entries()) {
    if (finalizer.includes('/') || STANDARD_FINALIZERS.has(finalizer)) continue;
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    causes.push(invalidValue(`metadata.finalizers[${index}]`, finalizer, why));
  }
  return causes;
}

function finalizerPairCauses(finalizers: readonly string[]): StatusCause[] {
  const names = new Set(finalizers);
  if (!names.has('orphan') || !names.has('foregroundDeletion')) return [];
  const why = 'finalizer orphan and foregroundDeletion cannot be both set';
  return [invalidValue('metadata.finalizers', finalizers, why)];
}

function finalizerCauses(finalizers: readonly string[] = [], anyName: boolean): StatusCause[] {
  return [
    ...finalizerNameCauses(finalizers),
    // The rule for finalizers of built-in kinds applies after the general rule.
    ...(anyName ? [] : finalizerDomainCauses(finalizers)),
    ...finalizerPairCauses(finalizers),
  ];
}

/** Kinds whose rule for names applies to the generated name, but not to `generateName`. */
const PREFIX_IS_FREE: ReadonlySet<string> = new Set([
  '/events',
  '/replicationcontrollers',
  'certificates.k8s.io/certificatesigningrequests',
]);

type AssessedKind = Pick<
  KindDefinition,
  'group' | 'plural' | 'namespaced' | 'custom' | 'validateName' | 'assessesMetaLast'
>;

function prefixCauses(kind: AssessedKind, { generateName = '' }: ObjectMeta): StatusCause[] {
  if (generateName === '' || PREFIX_IS_FREE.has(`${kind.group}/${kind.plural}`)) return [];
  const { validateName = subdomainProblems } = kind;
  if (validateName === pathSegmentProblems) return generalPrefixCauses({ generateName });
  // A prefix may end with a dash.
  const prefix = generateName.endsWith('-') ? `${generateName.slice(0, -1)}a` : generateName;
  return validateName(prefix).map((problem) => invalidValue('metadata.generateName', generateName, problem));
}

/** Validates `generateName`, which must be the start of a path segment. */
export const generalPrefixCauses = ({ generateName = '' }: ObjectMeta): StatusCause[] =>
  pathPrefixProblems(generateName).map((problem) => invalidValue('metadata.generateName', generateName, problem));

/** Validates the metadata of an object, as `ValidateObjectMeta` in Kubernetes. */
export function metaCauses(kind: AssessedKind, meta: ObjectMeta): StatusCause[] {
  const causes = prefixCauses(kind, meta);
  const nameProblems = kind.validateName ?? subdomainProblems;
  if (meta.name === undefined || meta.name === '') {
    causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  } else {
    for (const problem of nameProblems(meta.name)) causes.push(invalidValue('metadata.name', meta.name, problem));
  }
  if (kind.namespaced) {
    if (meta.namespace === undefined || meta.namespace === '') causes.push(requiredValue('metadata.namespace'));
    else {
      for (const problem of labelProblems(meta.namespace)) {
        causes.push(invalidValue('metadata.namespace', meta.namespace, problem));
      }
    }
  } else if (meta.namespace !== undefined && meta.namespace !== '') {
    causes.push(forbiddenValue('metadata.namespace', 'not allowed on this type'));
  }
  const { generation = 0 } = meta;
  if (generation < 0) {
    causes.push(invalidValue('metadata.generation', generation, 'must be greater than or equal to 0'));
  }
  causes.push(...commonCauses(kind, meta));
  return causes;
}

/** The groups whose kinds have only the general rules for metadata. */
const GENERAL_RULES: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'policy',
]);

const takesAnyFinalizer = (kind: AssessedKind): boolean =>
  kind.custom === true || kind.assessesMetaLast === true || GENERAL_RULES.has(kind.group);

/** In an update, the strategy of a kind validates the metadata either as a change or as new metadata. */
type Look = 'change' | 'new';

/** The key is `group/plural`, followed by the subresource if the subresource has its own strategy. */
const LOOKS: ReadonlyMap<string, readonly Look[]> = new Map<string, readonly Look[]>([
  ...[
    '/configmaps',
    '/endpoints',
    '/namespaces',
    '/nodes',
    '/persistentvolumeclaims',
    '/pods',
    '/secrets',
    '/serviceaccounts',
    'apiregistration.k8s.io/apiservices',
    'apps/controllerrevisions',
    'batch/jobs',
    'certificates.k8s.io/certificatesigningrequests',
    'certificates.k8s.io/certificatesigningrequests/approval',
    'certificates.k8s.io/certificatesigningrequests/status',
    'networking.k8s.io/ingressclasses',
    'networking.k8s.io/ingresses',
    'networking.k8s.io/ipaddresses',
    'node.k8s.io/runtimeclasses',
    'rbac.authorization.k8s.io/clusterrolebindings',
    'rbac.authorization.k8s.io/clusterroles',
    'rbac.authorization.k8s.io/rolebindings',
    'rbac.authorization.k8s.io/roles',
    'storage.k8s.io/csistoragecapacities',
    'storage.k8s.io/storageclasses',
    'storage.k8s.io/volumeattributesclasses',
  ].map((id): [string, readonly Look[]] => [id, ['change', 'new']]),
  ...[
    '/limitranges',
    'admissionregistration.k8s.io/mutatingadmissionpolicies',
    'admissionregistration.k8s.io/mutatingadmissionpolicybindings',
    'admissionregistration.k8s.io/mutatingwebhookconfigurations',
    'admissionregistration.k8s.io/validatingadmissionpolicies',
    'admissionregistration.k8s.io/validatingadmissionpolicies/status',
    'admissionregistration.k8s.io/validatingadmissionpolicybindings',
    'admissionregistration.k8s.io/validatingwebhookconfigurations',
    'discovery.k8s.io/endpointslices',
    'flowcontrol.apiserver.k8s.io/flowschemas',
    'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
    'storage.k8s.io/csinodes',
    'storage.k8s.io/volumeattachments',
    'storage.k8s.io/volumeattachments/status',
  ].map((id): [string, readonly Look[]] => [id, ['new']]),
  ['/persistentvolumes', ['new', 'new']],
  ...['/events', 'batch/cronjobs/status', 'policy/poddisruptionbudgets', 'policy/poddisruptionbudgets/status'].map(
    (id): [string, readonly Look[]] => [id, []],
  ),
]);

const looksOf = ({ group, plural }: KindDefinition, subresource: string): readonly Look[] =>
  LOOKS.get(`${group}/${plural}${subresource === '' ? '' : `/${subresource}`}`) ?? ['change'];

/** Returns the errors that new metadata and changed metadata can have. */
const plainCauses = (meta: ObjectMeta): StatusCause[] => [
  ...labelCauses(meta.labels),
  ...annotationCauses(meta.annotations),
  ...ownerCauses(meta.ownerReferences),
];

function commonCauses(kind: AssessedKind, meta: ObjectMeta): StatusCause[] {
  return [
    ...plainCauses(meta),
    ...finalizerCauses(meta.finalizers, takesAnyFinalizer(kind)),
    ...managedFieldsCauses(meta),
  ];
}

function managedFieldsCauses(meta: ObjectMeta): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [index, entry] of (meta.managedFields ?? []).entries()) {
    const path = `metadata.managedFields[${index}]`;
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') {
      causes.push(invalidValue(`${path}.operation`, entry.operation ?? '', 'must be `Apply` or `Update`'));
    }
    if ((entry.fieldsType ?? '') !== '' && entry.fieldsType !== 'FieldsV1') {
      causes.push(invalidValue(`${path}.fieldsType`, entry.fieldsType, 'must be `FieldsV1`'));
    }
  }
  return causes;
}

const IMMUTABLE: readonly (keyof ObjectMeta)[] = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];

function changeCauses(meta: ObjectMeta, old: ObjectMeta): StatusCause[] {
  const causes: StatusCause[] = [];
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(old.finalizers ?? []);
    const added = (meta.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      causes.push(
        forbiddenValue(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
        ),
      );
    }
  }
  for (const field of IMMUTABLE) {
    const value = meta[field];
    if (!jsonEquals(value ?? undefined, old[field] ?? undefined)) {
      causes.push(invalidValue(`metadata.${field}`, value ?? '', 'field is immutable'));
    }
  }
  return causes;
}

/**
 * Validates the metadata in an update. Two steps report their errors separately:
 * - the general step: as new metadata and as a change (`ValidateObjectMetaAccessor`,
 *   `ValidateObjectMetaAccessorUpdate`),
 * - the strategy of the kind (`ValidateObjectMetaUpdate` or `ValidateObjectMeta`).
 */
export function metaUpdateCauses(
  kind: KindDefinition,
  meta: ObjectMeta,
  old: ObjectMeta,
  subresource: string,
): StatusCause[] {
  const { finalizers = [] } = meta;
  const change = [...changeCauses(meta, old), ...plainCauses(meta), ...managedFieldsCauses(meta)];
  const general = [...plainCauses(meta), ...finalizerCauses(finalizers, true), ...managedFieldsCauses(meta)];
  const domains = takesAnyFinalizer(kind) ? [] : finalizerDomainCauses(finalizers);
  const looks = looksOf(kind, subresource).flatMap((look) => [
    ...(look === 'change' ? change : [...prefixCauses(kind, meta), ...general]),
    ...domains,
  ]);
  return [...generalPrefixCauses(meta), ...general, ...change, ...looks];
}

/** Returns warnings about new finalizers. In an update, existing finalizers cause no warning. */
export function finalizerWarnings(meta: ObjectMeta, old: ObjectMeta | undefined): string[] {
  const before = new Set(old?.finalizers ?? []);
  const warnings: string[] = [];
  for (const finalizer of [...new Set(meta.finalizers ?? [])].sort()) {
    if (before.has(finalizer) || finalizer.includes('/') || STANDARD_FINALIZERS.has(finalizer)) continue;
    const path = finalizer.includes('.') ? ' including a path (/)' : '';
    const why = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
    warnings.push(`metadata.finalizers: ${JSON.stringify(finalizer)}: ${why}`);
  }
  return warnings;
}

/** Removes duplicate owner references, and returns a warning with their UIDs. */
export function dedupOwners(object: ApiObject): string | undefined {
  const owners = object.metadata.ownerReferences;
  if (owners === undefined || owners.length < 2) return undefined;
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const kept: OwnerReference[] = [];
  for (const owner of owners) {
    if (seen.has(owner.uid) && kept.some((other) => jsonEquals(other, owner))) {
      repeated.add(owner.uid);
      continue;
    }
    seen.add(owner.uid);
    kept.push(owner);
  }
  if (repeated.size === 0) return undefined;
  object.metadata.ownerReferences = kept;
  return `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...repeated].join(', ')}`;
}
