import { type Machine, type MachineClass, type MachineDeployment, machineClasses, machines } from '@mcm/api';
import { type Draft, type KubeClient, type Node, namespaces, secrets } from '@mcm/kube';

const STARTED_AT = '2026-01-01T00:00:00Z';
const FINALIZER = 'machine.sapcloud.io/machine-controller-manager';
export const LABEL = 'mcm-fleet=bench';
const CLASS = 'small';

const nameOf = (index: number): string => `m-${index}`;
const providerIdOf = (index: number): string => `local:///local-a/i-${index.toString(16).padStart(8, '0')}`;

const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'].map((type) => ({
  type,
  status: type === 'Ready' ? ('True' as const) : ('False' as const),
  reason: 'Kubelet',
  message: 'kubelet reports Ready',
  lastHeartbeatTime: STARTED_AT,
  lastTransitionTime: STARTED_AT,
}));

export const hollowNode = (index: number): Draft<Node> => ({
  metadata: { name: nameOf(index), labels: { 'topology.kubernetes.io/zone': 'local-a', node: nameOf(index) } },
  spec: { providerID: providerIdOf(index) },
  status: {
    capacity: { cpu: '2', memory: '4Gi', pods: '110' },
    allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
    conditions,
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  },
});

export interface NewCluster {
  readonly name: string;
  readonly kubeconfig: string;
  readonly machines: number;
  readonly endpoint: string;
  readonly token: string;
}

export const machineClass = (namespace: string, name = CLASS): Draft<MachineClass> => ({
  metadata: { name, namespace },
  provider: 'local',
  secretRef: { name: 'cloud', namespace },
  nodeTemplate: {
    capacity: { cpu: '2', gpu: '0', memory: '4Gi' },
    instanceType: 'small',
    region: 'local',
    zone: 'local-a',
  },
  providerSpec: {
    image: 'hollow:v1',
    instanceType: 'small',
    zone: 'local-a',
    tags: { [`kubernetes.io/cluster/${namespace}`]: '1', 'kubernetes.io/role/node': '1' },
  },
});

async function createMachine(seed: KubeClient, namespace: string, index: number): Promise<void> {
  const name = nameOf(index);
  const resource = seed.resource<Machine>(machines, namespace);
  await resource.create({
    metadata: { name, namespace, labels: { name: 'bench', node: name }, finalizers: [FINALIZER] },
    spec: { class: { kind: 'MachineClass', name: CLASS }, providerID: providerIdOf(index) },
  });
  const status: Machine['status'] = {
    conditions,
    currentStatus: { phase: 'Running', lastUpdateTime: STARTED_AT },
    lastOperation: { description: 'joined', state: 'Successful', type: 'Create', lastUpdateTime: STARTED_AT },
  };
  await resource.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
}

/** Creates the namespace of a cluster with its machines. */
export async function createCluster(seed: KubeClient, cluster: NewCluster): Promise<void> {
  const { name, kubeconfig, endpoint, token } = cluster;
  const [key = '', value = ''] = LABEL.split('=');
  await seed.resource(namespaces).create({ metadata: { name } });
  await seed.resource(secrets, name).create({ metadata: { name: 'fleet-kubeconfig' }, stringData: { kubeconfig } });
  const stringData = { endpoint, token, userData: 'none' };
  await seed.resource(secrets, name).create({ metadata: { name: 'cloud' }, stringData });
  await seed.resource<MachineClass>(machineClasses, name).create(machineClass(name));
  for (let index = 0; index < cluster.machines; index += 1) await createMachine(seed, name, index);
  await seed.resource(namespaces).patch(name, { type: 'merge', body: { metadata: { labels: { [key]: value } } } });
}

export const newDeployment = (namespace: string, name: string, replicas = 1): Draft<MachineDeployment> => ({
  metadata: { name, namespace },
  spec: {
    replicas,
    selector: { matchLabels: { name } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: { metadata: { labels: { name } }, spec: { class: { kind: 'MachineClass', name: CLASS } } },
  },
});
