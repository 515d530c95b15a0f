import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, strings, text } from '../../apimachinery/objects/plain.ts';
import { AGE, column, countAt, NAME, NONE, shownAt, textAt, wide } from './column.ts';

export const leaseColumns: readonly PrinterColumn[] = [
  NAME,
  column('Holder', (lease) => textAt(lease, 'spec.holderIdentity'), { doc: ['V1LeaseSpec', 'holderIdentity'] }),
  AGE,
];

export const priorityClassColumns: readonly PrinterColumn[] = [
  NAME,
  column('Value', (object) => countAt(object, 'value'), { type: 'integer', doc: ['V1PriorityClass', 'value'] }),
  column('Global-Default', (object) => object.globalDefault === true, {
    type: 'boolean',
    doc: ['V1PriorityClass', 'globalDefault'],
  }),
  AGE,
  column('PreemptionPolicy', (object) => text(object, 'preemptionPolicy'), {
    doc: ['V1PriorityClass', 'preemptionPolicy'],
  }),
];

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

export const attributesClassColumns: readonly PrinterColumn[] = [
  NAME,
  column('DriverName', (object) => text(object, 'driverName'), { doc: ['V1VolumeAttributesClass', 'driverName'] }),
  AGE,
];

export const storageClassColumns: readonly PrinterColumn[] = [
  {
    ...NAME,
    value: ({ metadata: { name = '', annotations = {} } }) =>
      DEFAULT_CLASS.some((mark) => annotations[mark] === 'true') ? `${name} (default)` : name,
  },
  column('Provisioner', (object) => text(object, 'provisioner'), { doc: ['V1StorageClass', 'provisioner'] }),
  column('ReclaimPolicy', (object) => text(object, 'reclaimPolicy') || 'Delete', {
    doc: ['V1StorageClass', 'reclaimPolicy'],
  }),
  column('VolumeBindingMode', (object) => text(object, 'volumeBindingMode') || 'Immediate', {
    doc: ['V1StorageClass', 'volumeBindingMode'],
  }),
  column('AllowVolumeExpansion', (object) => object.allowVolumeExpansion === true, {
    doc: ['V1StorageClass', 'allowVolumeExpansion'],
  }),
  AGE,
];

export const attachmentColumns: readonly PrinterColumn[] = [
  NAME,
  {
    ...column('Attacher', (object) => textAt(object, 'spec.attacher'), {
      doc: 'attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().',
    }),
    format: 'name',
  },
  column('PV', (object) => textAt(object, 'spec.source.persistentVolumeName'), {
    doc: ['V1VolumeAttachmentSource', 'persistentVolumeName'],
  }),
  column('Node', (object) => textAt(object, 'spec.nodeName'), { doc: ['V1VolumeAttachmentSpec', 'nodeName'] }),
  column('Attached', (object) => look(object, 'status').attached === true, {
    type: 'boolean',
    doc: ['V1VolumeAttachmentStatus', 'attached'],
  }),
  AGE,
];

export const csiNodeColumns: readonly PrinterColumn[] = [
  NAME,
  column('Drivers', (object) => items(look(object, 'spec'), 'drivers').length, {
    type: 'integer',
    doc: 'Drivers indicates the number of CSI drivers registered on the node',
  }),
  AGE,
];

const flag = (name: string, field: string): PrinterColumn =>
  column(name, (object) => look(object, 'spec')[field] === true, { type: 'boolean', doc: ['V1CSIDriverSpec', field] });

export const csiDriverColumns: readonly PrinterColumn[] = [
  NAME,
  column('AttachRequired', (object) => look(object, 'spec').attachRequired !== false, {
    type: 'boolean',
    doc: ['V1CSIDriverSpec', 'attachRequired'],
  }),
  flag('PodInfoOnMount', 'podInfoOnMount'),
  flag('StorageCapacity', 'storageCapacity'),
  column(
    'TokenRequests',
    (object) =>
      items(look(object, 'spec'), 'tokenRequests')
        .map((one) => text(one, 'audience'))
        .join(',') || '<unset>',
    {
      doc: ['V1CSIDriverSpec', 'tokenRequests'],
    },
  ),
  flag('RequiresRepublish', 'requiresRepublish'),
  column('Modes', (object) => strings(look(object, 'spec'), 'volumeLifecycleModes').join(',') || NONE, {
    doc: ['V1CSIDriverSpec', 'volumeLifecycleModes'],
  }),
  AGE,
];

function requestCondition(request: ApiObject): string {
  const types = items(look(request, 'status'), 'conditions').map((one) => text(one, 'type'));
  const words = ['Approved', 'Denied', 'Failed'].filter((type) => types.includes(type));
  if (words.length === 0) words.push('Pending');
  if (textAt(request, 'status.certificate') !== '') words.push('Issued');
  return words.join(',');
}

/** The description of the column. In tables, kube-apiserver uses an older text than in the API documentation. */
const SIGNER_DOC =
  'Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it\'s a kubelet client certificate, it is assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it\'s a kubelet serving certificate, it is assigned\n    "kubernetes.io/kubelet-serving".\n 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.';

const DURATION_DOC =
  'expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\nCertificate signers may not honor this field for various reasons:\n\n  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n  2. Signer whose configured maximum is shorter than the requested duration\n  3. Signer whose configured minimum is longer than the requested duration\n\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes.';

export const certificateRequestColumns: readonly PrinterColumn[] = [
  NAME,
  AGE,
  column('SignerName', (request) => textAt(request, 'spec.signerName', NONE), { doc: SIGNER_DOC }),
  column('Requestor', (request) => textAt(request, 'spec.username'), { doc: 'Base64-encoded PKCS#10 CSR data' }),
  column('RequestedDuration', (request) => shownDuration(request), { doc: DURATION_DOC }),
  column('Condition', requestCondition, { doc: 'Conditions applied to the request, such as approval or denial.' }),
];

/** Formats the requested duration of a certificate with the largest units, as kubectl does: `24h`, `10m`. */
function shownDuration(request: ApiObject): string {
  const seconds = Number(shownAt(request, 'spec.expirationSeconds', ''));
  if (!(seconds > 0)) return NONE;
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 3 * 3600) return `${Math.trunc(seconds / 60)}m`;
  return seconds < 48 * 3600 ? `${Math.trunc(seconds / 3600)}h` : `${Math.trunc(seconds / 86_400)}d`;
}

const subjects = (kind: string) => (binding: ApiObject) =>
  items(binding, 'subjects')
    .filter((subject) => subject.kind === kind)
    .map((subject) => {
      const namespace = text(subject, 'namespace');
      return kind === 'ServiceAccount' ? `${namespace}/${text(subject, 'name')}` : text(subject, 'name');
    })
    .join(', ');

const bindings = (kind: string, roles: string): readonly PrinterColumn[] => [
  NAME,
  column('Role', (binding) => `${textAt(binding, 'roleRef.kind')}/${textAt(binding, 'roleRef.name')}`, {
    doc: `RoleRef can ${roles}. If the RoleRef cannot be resolved, the Authorizer must return an error.`,
  }),
  AGE,
  wide('Users', subjects('User'), { doc: `Users in the ${kind}` }),
  wide('Groups', subjects('Group'), { doc: `Groups in the ${kind}` }),
  wide('ServiceAccounts', subjects('ServiceAccount'), { doc: `ServiceAccounts in the ${kind}` }),
];

export const bindingColumns = bindings(
  'roleBinding',
  'reference a Role in the current namespace or a ClusterRole in the global namespace',
);
export const clusterBindingColumns = bindings(
  'clusterRoleBinding',
  'only reference a ClusterRole in the global namespace',
);

const UNSET = '<unset>';

function serviceOf(api: ApiObject): string {
  const service = look(api, 'spec', 'service');
  return text(service, 'name') === '' ? 'Local' : `${text(service, 'namespace')}/${text(service, 'name')}`;
}

function availability(api: ApiObject): string {
  const condition = items(look(api, 'status'), 'conditions').find(({ type }) => type === 'Available');
  const status = text(condition, 'status') || 'Unknown';
  const reason = text(condition, 'reason');
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}

export const apiServiceColumns: readonly PrinterColumn[] = [
  NAME,
  column('Service', serviceOf, { doc: 'The reference to the service that hosts this API endpoint.' }),
  column('Available', availability, { doc: 'Whether this service is available.' }),
  AGE,
];

const paramKind = (policy: ApiObject): string => {
  const kind = look(policy, 'spec').paramKind;
  return kind === undefined ? UNSET : `${text(kind, 'apiVersion')}/${text(kind, 'kind')}`;
};

const policies = (column1: string, field: string, doc: string): readonly PrinterColumn[] => [
  NAME,
  column(column1, (policy) => items(look(policy, 'spec'), field).length, { type: 'integer', doc }),
  column('ParamKind', paramKind, { doc: 'ParamKind specifies the kind of resources used to parameterize this policy' }),
  AGE,
];

export const validatingPolicyColumns = policies(
  'Validations',
  'validations',
  'Validations indicates the number of validation rules defined in this configuration',
);
export const mutatingPolicyColumns = policies(
  'Mutations',
  'mutations',
  'Mutation indicates the number of mutations rules defined in this configuration',
);

/** Formats the parameter reference of a binding like a Go structure. */
function paramRef(binding: ApiObject): string {
  const { paramRef: ref } = look(binding, 'spec');
  if (ref === undefined) return UNSET;
  const name = text(ref, 'name');
  if (name !== '') return `${text(ref, 'namespace') || '*'}/${name}`;
  const selector = look(ref, 'selector');
  const labels = Object.entries(look(selector, 'matchLabels')).sort(([a], [b]) => (a < b ? -1 : 1));
  const expressions = items(selector, 'matchExpressions').map(
    (one) =>
      `LabelSelectorRequirement{Key:${text(one, 'key')},Operator:${text(one, 'operator')},Values:[${strings(one, 'values').join(' ')}],}`,
  );
  const pairs = labels.map(([key, value]) => `${key}: ${String(value)},`).join('');
  return `&LabelSelector{MatchLabels:map[string]string{${pairs}},MatchExpressions:[]LabelSelectorRequirement{${expressions.map((one) => `${one},`).join('')}},}`;
}

export const policyBindingColumns: readonly PrinterColumn[] = [
  NAME,
  column('PolicyName', (binding) => textAt(binding, 'spec.policyName'), {
    doc: 'PolicyName indicates the policy definition which the policy binding binded to',
  }),
  column('ParamRef', paramRef, {
    doc: 'ParamRef indicates the param resource which sets the configuration param',
  }),
  AGE,
];

export const runtimeClassColumns: readonly PrinterColumn[] = [
  NAME,
  column('Handler', (object) => text(object, 'handler')),
  AGE,
];

const dangling = (schema: ApiObject): string =>
  text(
    items(look(schema, 'status'), 'conditions').find(({ type }) => type === 'Dangling'),
    'status',
  ) || '?';

export const flowSchemaColumns: readonly PrinterColumn[] = [
  NAME,
  column('PriorityLevel', (schema) => textAt(schema, 'spec.priorityLevelConfiguration.name'), {
    doc: ['V1PriorityLevelConfigurationReference', 'name'],
  }),
  column('MatchingPrecedence', (schema) => countAt(schema, 'spec.matchingPrecedence'), {
    doc: ['V1FlowSchemaSpec', 'matchingPrecedence'],
  }),
  column('DistinguisherMethod', (schema) => textAt(schema, 'spec.distinguisherMethod.type', NONE), {
    doc: '`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.',
  }),
  AGE,
  column('MissingPL', dangling, { doc: 'references a broken or non-existent PriorityLevelConfiguration' }),
];

const levelColumn = (name: string, path: string, model: string): PrinterColumn => {
  const field = path.split('.').at(-1) ?? '';
  return column(
    name,
    (level) => {
      const value = shownAt(level, path, NONE);
      return value === NONE ? NONE : Number(value);
    },
    { doc: [model, field] },
  );
};

export const priorityLevelColumns: readonly PrinterColumn[] = [
  NAME,
  column('Type', (level) => textAt(level, 'spec.type'), {
    doc: ['V1PriorityLevelConfigurationSpec', 'type'],
  }),
  levelColumn(
    'NominalConcurrencyShares',
    'spec.limited.nominalConcurrencyShares',
    'V1LimitedPriorityLevelConfiguration',
  ),
  levelColumn('Queues', 'spec.limited.limitResponse.queuing.queues', 'V1QueuingConfiguration'),
  levelColumn('HandSize', 'spec.limited.limitResponse.queuing.handSize', 'V1QueuingConfiguration'),
  levelColumn('QueueLengthLimit', 'spec.limited.limitResponse.queuing.queueLengthLimit', 'V1QueuingConfiguration'),
  AGE,
];

export const webhookColumns: readonly PrinterColumn[] = [
  NAME,
  column('Webhooks', (object) => items(object, 'webhooks').length, {
    type: 'integer',
    doc: 'Webhooks indicates the number of webhooks registered in this configuration',
  }),
  AGE,
];
