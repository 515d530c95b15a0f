export const MACHINES = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines';
export const MACHINE_SETS = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machinesets';
export const NODES = '/api/v1/nodes';
export const PODS = '/api/v1/namespaces/default/pods';

export const machineName = (index: number): string => `machine-${index}`;

const SET = 'bench-12345';
const LABELS = { name: 'bench', 'machine-template-hash': '12345' };

/** Without the MachineSet of the benchmark, the garbage collector would delete the machines. */
export const machineSet = JSON.stringify({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: SET, namespace: 'default' },
  spec: {
    replicas: 0,
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
  },
});

export const machine = (index: number, owner: string): string =>
  JSON.stringify({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name: machineName(index),
      namespace: 'default',
      labels: LABELS,
      finalizers: ['machine.sapcloud.io/machine-controller-manager'],
      ownerReferences: [
        {
          apiVersion: 'machine.sapcloud.io/v1alpha1',
          kind: 'MachineSet',
          name: SET,
          uid: owner,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      class: { kind: 'MachineClass', name: 'small' },
      nodeTemplate: { metadata: { labels: { node: 'bench' } }, spec: { taints: [] } },
    },
  });

export const specPatch = (index: number): string =>
  JSON.stringify({ metadata: { labels: { round: String(index) } }, spec: { providerID: `local:///${index}` } });

export const statusPatch = (index: number): string =>
  JSON.stringify({
    status: {
      currentStatus: { phase: 'Running', lastUpdateTime: '2026-01-01T00:00:00Z' },
      lastOperation: {
        description: `Machine ${index} is ready`,
        state: 'Successful',
        type: 'Create',
        lastUpdateTime: '2026-01-01T00:00:00Z',
      },
      conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: 'Kubelet',
        message: 'kubelet reports Ready',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  });

export const node = (index: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${index}`,
      labels: {
        'kubernetes.io/hostname': `node-${index}`,
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': 'small',
        'topology.kubernetes.io/zone': 'local-a',
      },
    },
    spec: { providerID: `local:///${index}` },
    status: {
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
      nodeInfo: {
        machineID: `${index}`,
        systemUUID: `${index}`,
        bootID: `${index}`,
        kernelVersion: '6.1.0',
        osImage: 'hollow',
        containerRuntimeVersion: 'containerd://2.0.0',
        kubeletVersion: 'v1.36.0',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: 'Kubelet',
        message: 'kubelet reports Ready',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  });

const podOf = (index: number, placement: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, labels: { app: `app-${index % 100}`, 'pod-template-hash': '5c689d88bb' } },
    spec: {
      ...placement,
      containers: [
        {
          name: 'main',
          image: 'registry.example/app:1',
          ports: [{ containerPort: 8080 }],
          env: [
            { name: 'MODE', value: 'production' },
            { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
        },
      ],
    },
  });

export const pod = (index: number, nodeCount = 10_000): string =>
  podOf(index, { nodeName: `node-${index % nodeCount}` });

export const pendingPod = (index: number): string => podOf(index, { schedulerName: 'bench' });
