import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import { defined } from '../apimachinery/objects/plain.ts';

/**
 * Properties of built-in fields that the models of the client library lack: merge rules of lists, quantities, and
 * atomic structures. Sources: the marks `+listType`, `patchStrategy` and `+structType` in k8s.io/api v0.36, and the
 * schemas under /openapi/v3 of kube-apiserver.
 *
 * A row is `owner: field=keys`, or `owner: field=set` for a set.
 * - `~` before the field: a strategic merge patch replaces the list
 * - `+` before the field: a strategic merge patch merges the list and retains keys
 */
const LISTS = `
admissionregistration.v1.MutatingAdmissionPolicySpec: matchConditions=name
admissionregistration.v1.MutatingWebhook: matchConditions=name
admissionregistration.v1.MutatingWebhookConfiguration: webhooks=name
admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec: ~validationActions=set
admissionregistration.v1.ValidatingAdmissionPolicySpec: matchConditions=name variables=name
admissionregistration.v1.ValidatingAdmissionPolicyStatus: ~conditions=type
admissionregistration.v1.ValidatingWebhook: matchConditions=name
admissionregistration.v1.ValidatingWebhookConfiguration: webhooks=name
apiextensions.v1.CustomResourceDefinitionStatus: ~conditions=type
apiextensions.v1.JSONSchemaProps: x-kubernetes-validations=rule
apiregistration.v1.APIServiceStatus: conditions=type
apps.v1.DaemonSetStatus: conditions=type
apps.v1.DeploymentStatus: conditions=type
apps.v1.ReplicaSetStatus: conditions=type
apps.v1.StatefulSetStatus: conditions=type
autoscaling.v2.HorizontalPodAutoscalerStatus: conditions=type
batch.v1.PodFailurePolicyOnExitCodesRequirement: ~values=set
batch.v1.UncountedTerminatedPods: ~failed=set ~succeeded=set
certificates.v1.CertificateSigningRequestStatus: ~conditions=type
core.v1.ComponentStatus: conditions=type
core.v1.Container: env=name ports=containerPort,protocol volumeDevices=devicePath volumeMounts=mountPath
core.v1.ContainerRestartRuleOnExitCodes: ~values=set
core.v1.ContainerStatus: allocatedResourcesStatus=name volumeMounts=mountPath
core.v1.EphemeralContainer: env=name ports=containerPort,protocol volumeDevices=devicePath volumeMounts=mountPath
core.v1.NamespaceStatus: conditions=type
core.v1.NodeAllocatableResourceClaimStatus: ~containers=set
core.v1.NodeSpec: podCIDRs=set
core.v1.NodeStatus: addresses=type conditions=type
core.v1.PersistentVolumeClaimStatus: conditions=type
core.v1.PodSpec: containers=name ephemeralContainers=name hostAliases=ip imagePullSecrets=name initContainers=name
core.v1.PodSpec: +resourceClaims=name schedulingGates=name topologySpreadConstraints=topologyKey,whenUnsatisfiable
core.v1.PodSpec: +volumes=name
core.v1.PodStatus: conditions=type podIPs=ip +resourceClaimStatuses=name
core.v1.ReplicationControllerStatus: conditions=type
core.v1.ResourceRequirements: ~claims=name
core.v1.ResourceStatus: ~resources=resourceID
core.v1.ServiceAccount: secrets=name
core.v1.ServiceSpec: ports=port,protocol
core.v1.ServiceStatus: conditions=type
discovery.v1.Endpoint: ~addresses=set
flowcontrol.v1.FlowSchemaStatus: conditions=type
flowcontrol.v1.NonResourcePolicyRule: ~nonResourceURLs=set ~verbs=set
flowcontrol.v1.PriorityLevelConfigurationStatus: conditions=type
flowcontrol.v1.ResourcePolicyRule: ~apiGroups=set ~namespaces=set ~resources=set ~verbs=set
networking.v1.ServiceCIDRStatus: conditions=type
policy.v1.PodDisruptionBudgetStatus: conditions=type
resource.v1.AllocatedDeviceStatus: ~conditions=type
resource.v1.ResourceClaimStatus: ~devices=driver,device,pool,shareID reservedFor=uid
storage.v1.CSIDriverSpec: ~volumeLifecycleModes=set
storage.v1.CSINodeSpec: drivers=name
meta.v1.ObjectMeta: finalizers=set ownerReferences=uid
`;

function* rowsOf(table: string): Generator<readonly [owner: string, field: string, value: string]> {
  for (const line of table.trim().split('\n')) {
    const [owner = '', fields = ''] = line.split(': ');
    for (const entry of fields.split(' ')) {
      const [field = '', value = ''] = entry.split('=');
      yield [owner, field, value];
    }
  }
}

function listFact(mark: string, keys: string): JsonSchema {
  const names = keys.split(',');
  const type: JsonSchema =
    keys === 'set'
      ? { 'x-kubernetes-list-type': 'set' }
      : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': names };
  if (mark === '~') return type;
  return defined({
    ...type,
    'x-kubernetes-patch-merge-key': keys === 'set' ? undefined : names[0],
    'x-kubernetes-patch-strategy': mark === '+' ? 'merge,retainKeys' : 'merge',
  });
}

/** The schemas of lists with a merge rule. Lists without an entry are atomic. */
export const listFacts: ReadonlyMap<string, JsonSchema> = new Map([
  ...[...rowsOf(LISTS)].map(([owner, field, keys]): [string, JsonSchema] => {
    const mark = /^[~+]/.exec(field)?.[0] ?? '';
    return [`${owner}.${field.slice(mark.length)}`, listFact(mark, keys)];
  }),
  // A server-side apply replaces each of these lists as a whole, but a strategic merge patch merges them.
  [
    'core.v1.PodStatus.hostIPs',
    {
      'x-kubernetes-list-type': 'atomic',
      'x-kubernetes-patch-merge-key': 'ip',
      'x-kubernetes-patch-strategy': 'merge',
    },
  ],
  [
    'batch.v1.JobStatus.conditions',
    {
      'x-kubernetes-list-type': 'atomic',
      'x-kubernetes-patch-merge-key': 'type',
      'x-kubernetes-patch-strategy': 'merge',
    },
  ],
]);

const atomicMap: JsonSchema = { 'x-kubernetes-map-type': 'atomic' };

export const mapFacts: ReadonlyMap<string, JsonSchema> = new Map([
  // Raw JSON is always replaced as a whole.
  ['apps.v1.ControllerRevision.data', atomicMap],
  ['resource.v1.AllocatedDeviceStatus.data', atomicMap],
  ['resource.v1.OpaqueDeviceConfiguration.parameters', atomicMap],
  ['core.v1.PodSpec.nodeSelector', atomicMap],
  ['core.v1.ReplicationControllerSpec.selector', atomicMap],
  ['core.v1.ServiceSpec.selector', atomicMap],
  ['node.v1.Scheduling.nodeSelector', atomicMap],
  ['core.v1.PersistentVolumeSpec.claimRef', { 'x-kubernetes-map-type': 'granular' }],
  ['core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses', { 'x-kubernetes-map-type': 'granular' }],
  ['apps.v1.DeploymentSpec.strategy', { 'x-kubernetes-patch-strategy': 'retainKeys' }],
  ['policy.v1.PodDisruptionBudgetSpec.selector', { 'x-kubernetes-patch-strategy': 'replace' }],
]);

const ATOMIC_STRUCTURES = `
admissionregistration.v1: MatchResources NamedRuleWithOperations ParamKind ParamRef Variable
autoscaling.v1: CrossVersionObjectReference
core.v1: ConfigMapKeySelector EndpointAddress EndpointPort FileKeySelector LocalObjectReference NodeSelector
core.v1: NodeSelectorTerm ObjectFieldSelector ObjectReference ResourceFieldSelector ScopeSelector SecretKeySelector
core.v1: SecretReference TopologySelectorTerm TypedLocalObjectReference
discovery.v1: EndpointPort
networking.v1: ServiceBackendPort
rbac.v1: RoleRef Subject
meta.v1: LabelSelector OwnerReference
`;

const preserving: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true };

export const wholeFacts: ReadonlyMap<string, JsonSchema> = new Map([
  ...[...rowsOf(ATOMIC_STRUCTURES)].map(([owner, name]): [string, JsonSchema] => [`${owner}.${name}`, atomicMap]),
  // The server validates managed fields without a schema.
  ['meta.v1.FieldsV1', preserving],
]);

const QUANTITIES = `
autoscaling.v2.HPAScalingRules: tolerance
autoscaling.v2.MetricTarget: averageValue value
autoscaling.v2.MetricValueStatus: averageValue value
core.v1.ContainerStatus: {}allocatedResources
core.v1.EmptyDirVolumeSource: sizeLimit
core.v1.LimitRangeItem: {}default {}defaultRequest {}max {}maxLimitRequestRatio {}min
core.v1.NodeAllocatableResourceClaimStatus: {}resources
core.v1.NodeStatus: {}allocatable {}capacity
core.v1.PersistentVolumeClaimStatus: {}allocatedResources {}capacity
core.v1.PersistentVolumeSpec: {}capacity
core.v1.PodSpec: {}overhead
core.v1.PodStatus: {}allocatedResources
core.v1.ResourceFieldSelector: divisor
core.v1.ResourceQuotaSpec: {}hard
core.v1.ResourceQuotaStatus: {}hard {}used
core.v1.ResourceRequirements: {}limits {}requests
core.v1.VolumeResourceRequirements: {}limits {}requests
node.v1.Overhead: {}podFixed
resource.v1.CapacityRequestPolicy: default
resource.v1.CapacityRequestPolicyRange: max min step
resource.v1.CapacityRequirements: {}requests
resource.v1.Counter: value
resource.v1.DeviceCapacity: value
resource.v1.DeviceRequestAllocationResult: {}consumedCapacity
resource.v1.NodeAllocatableResourceMapping: allocationMultiplier
storage.v1.CSIStorageCapacity: capacity maximumVolumeSize
`;

const BYTES = `
core.v1.ConfigMap: {}binaryData
core.v1.Secret: {}data
`;

const typed = (table: string, scalar: string): [string, string][] =>
  [...rowsOf(table)].map(([owner, field]) =>
    field.startsWith('{}') ? [`${owner}.${field.slice(2)}`, `{}${scalar}`] : [`${owner}.${field}`, scalar],
  );

export const quantityFields: ReadonlyMap<string, string> = new Map([
  ...typed(QUANTITIES, 'quantity'),
  ...typed(BYTES, 'byte'),
  ['resource.v1.CapacityRequestPolicy.validValues', '[]quantity'],
  // The values of default, example and enum in a CRD can be any JSON.
  ['apiextensions.v1.JSONSchemaProps.enum', '[]any'],
]);

export const ownReaders: ReadonlyMap<string, string> = new Map([
  ['apiextensions.v1.JSONSchemaProps.additionalItems', 'schema-or-bool'],
  ['apiextensions.v1.JSONSchemaProps.additionalProperties', 'schema-or-bool'],
  ['apiextensions.v1.JSONSchemaProps.items', 'schema-or-array'],
  ['apiextensions.v1.CustomResourceSubresources.status', 'empty'],
]);

/** Defaults from the published schema for keys of list items. */
export const scalarDefaults: ReadonlyMap<string, string | number> = new Map([
  ['core.v1.ContainerPort.protocol', 'TCP'],
  ['core.v1.ServicePort.protocol', 'TCP'],
]);
