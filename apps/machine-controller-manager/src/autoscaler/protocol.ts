import type { fromJSON } from '@grpc/proto-loader';
import { withoutUndefined } from '@mcm/kube';

/**
 * The external gRPC protocol of the cluster autoscaler, as a JSON descriptor of protobuf. Source:
 * kubernetes/autoscaler, cluster-autoscaler/cloudprovider/externalgrpc/protos; k8s.io/api/core/v1.
 */

type Descriptor = Parameters<typeof fromJSON>[0];
type Messages = NonNullable<Descriptor['nested']>;
type Message = Messages[string];
type Fields = Readonly<Record<string, readonly [id: number, type: string, form?: 'list' | 'map']>>;

const message = (fields: Fields): Message => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, [id, type, form]]) => [
      name,
      withoutUndefined({
        id,
        type,
        rule: form === 'list' ? 'repeated' : undefined,
        keyType: form === 'map' ? 'string' : undefined,
      }),
    ]),
  ),
});

const EMPTY = message({});
const OF_GROUP = message({ id: [1, 'string'] });

/** The methods that the manager serves. All other methods return UNIMPLEMENTED, which the protocol allows. */
const METHODS = [
  'NodeGroups',
  'NodeGroupForNode',
  'GPULabel',
  'GetAvailableGPUTypes',
  'Cleanup',
  'Refresh',
  'NodeGroupTargetSize',
  'NodeGroupIncreaseSize',
  'NodeGroupDeleteNodes',
  'NodeGroupDecreaseTargetSize',
  'NodeGroupNodes',
  'NodeGroupTemplateNodeInfo',
] as const;

export type Method = (typeof METHODS)[number];

const PROTOCOL: Messages = {
  CloudProvider: {
    methods: Object.fromEntries(
      METHODS.map((name) => [name, { requestType: `${name}Request`, responseType: `${name}Response`, comment: '' }]),
    ),
  },
  NodeGroup: message({ id: [1, 'string'], minSize: [2, 'int32'], maxSize: [3, 'int32'], debug: [4, 'string'] }),
  ExternalGrpcNode: message({
    providerID: [1, 'string'],
    name: [2, 'string'],
    labels: [3, 'string', 'map'],
    annotations: [4, 'string', 'map'],
  }),
  NodeGroupsRequest: EMPTY,
  NodeGroupsResponse: message({ nodeGroups: [1, 'NodeGroup', 'list'] }),
  NodeGroupForNodeRequest: message({ node: [1, 'ExternalGrpcNode'] }),
  NodeGroupForNodeResponse: message({ nodeGroup: [1, 'NodeGroup'] }),
  GPULabelRequest: EMPTY,
  GPULabelResponse: message({ label: [1, 'string'] }),
  GetAvailableGPUTypesRequest: EMPTY,
  GetAvailableGPUTypesResponse: EMPTY,
  CleanupRequest: EMPTY,
  CleanupResponse: EMPTY,
  RefreshRequest: EMPTY,
  RefreshResponse: EMPTY,
  NodeGroupTargetSizeRequest: OF_GROUP,
  NodeGroupTargetSizeResponse: message({ targetSize: [1, 'int32'] }),
  NodeGroupIncreaseSizeRequest: message({ delta: [1, 'int32'], id: [2, 'string'] }),
  NodeGroupIncreaseSizeResponse: EMPTY,
  NodeGroupDeleteNodesRequest: message({ nodes: [1, 'ExternalGrpcNode', 'list'], id: [2, 'string'] }),
  NodeGroupDeleteNodesResponse: EMPTY,
  NodeGroupDecreaseTargetSizeRequest: message({ delta: [1, 'int32'], id: [2, 'string'] }),
  NodeGroupDecreaseTargetSizeResponse: EMPTY,
  NodeGroupNodesRequest: OF_GROUP,
  NodeGroupNodesResponse: message({ instances: [1, 'Instance', 'list'] }),
  Instance: message({ id: [1, 'string'], status: [2, 'InstanceStatus'] }),
  InstanceStatus: message({ instanceState: [1, 'int32'], errorInfo: [2, 'InstanceErrorInfo'] }),
  InstanceErrorInfo: message({
    errorCode: [1, 'string'],
    errorMessage: [2, 'string'],
    instanceErrorClass: [3, 'int32'],
  }),
  NodeGroupTemplateNodeInfoRequest: OF_GROUP,
  NodeGroupTemplateNodeInfoResponse: message({ nodeBytes: [2, 'bytes'] }),
};

const CORE: Messages = {
  Encoder: { methods: { Node: { requestType: 'Node', responseType: 'Node', comment: '' } } },
  Node: message({ metadata: [1, 'ObjectMeta'], spec: [2, 'NodeSpec'], status: [3, 'NodeStatus'] }),
  ObjectMeta: message({ name: [1, 'string'], labels: [11, 'string', 'map'], annotations: [12, 'string', 'map'] }),
  NodeSpec: message({ taints: [5, 'Taint', 'list'] }),
  Taint: message({ key: [1, 'string'], value: [2, 'string'], effect: [3, 'string'] }),
  NodeStatus: message({
    capacity: [1, 'Quantity', 'map'],
    allocatable: [2, 'Quantity', 'map'],
    conditions: [4, 'NodeCondition', 'list'],
  }),
  Quantity: message({ string: [1, 'string'] }),
  NodeCondition: message({ type: [1, 'string'], status: [2, 'string'] }),
};

/** The name of the gRPC service in the protocol. */
export const SERVICE = 'clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider';
/** The name of the helper service that encodes Nodes. */
export const ENCODER = 'core.Encoder';

/** The complete descriptor of the protocol. */
export const DESCRIPTOR: Descriptor = {
  nested: {
    core: { nested: CORE },
    clusterautoscaler: {
      nested: { cloudprovider: { nested: { v1: { nested: { externalgrpc: { nested: PROTOCOL } } } } } },
    },
  },
};
