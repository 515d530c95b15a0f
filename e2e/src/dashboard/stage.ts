import {
  API_VERSION,
  crds,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { serveDashboard } from '@mcm/cli';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  defined,
  type KubeClient,
  nodes,
  podDisruptionBudgets,
  pods,
  realClock,
  seededRandom,
} from '@mcm/kube';

export const HOSTILE = `</pre></section><script>globalThis.owned=1</script><img src=x onerror="globalThis.owned=1">'"&amp;`;

export const NAMESPACE = 'default';

/** A dashboard for a control plane in this process. */
export interface DashboardStage {
  readonly url: string;
  readonly client: KubeClient;
  readonly plane: ControlPlane;
  addMachine(name: string, phase: string, more?: { description?: string; node?: boolean }): Promise<Machine>;
  setPhase(name: string, phase: string, description?: string): Promise<void>;
  remove(name: string): Promise<void>;
  interrupt(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const labels = { pool: 'workers' };
const template = { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } };

export async function startStage(): Promise<DashboardStage> {
  const plane = await startControlPlane({ crds, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  const end = new AbortController();
  const cluster = { client, target: client, namespace: NAMESPACE, close: async () => undefined };
  const set = await seed(client);
  const stage = {
    client,
    plane,
    addMachine: (name: string, phase: string, more = {}) => addMachine(client, set, name, phase, more),
    setPhase: (name: string, phase: string, description?: string) => setPhase(client, name, phase, description),
    remove: async (name: string) => {
      const api = client.resource<Machine>(machines, NAMESPACE);
      await api.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
      await api.delete(name);
    },
  };
  await stage.addMachine('workers-1', 'Running', { node: true });
  await stage.addMachine('workers-2', 'Pending');
  await stage.addMachine('workers-3', 'Failed', { description: HOSTILE });
  await stage.addMachine('workers-4', 'Terminating', { node: true, description: 'Drain: waiting for pods' });
  await blockDrain(client, 'workers-4');
  await client.resource<Machine>(machines, NAMESPACE).delete('workers-4');
  const serve = (port: number) => serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port });
  let dashboard = await serve(0);
  return {
    ...stage,
    url: dashboard.url,
    async interrupt() {
      await dashboard.close();
      return async () => {
        dashboard = await serve(Number(new URL(dashboard.url).port));
      };
    },
    async close() {
      await dashboard.close();
      end.abort(new Error('the test is over'));
      await plane.close();
    },
  };
}

async function seed(client: KubeClient): Promise<MachineSet> {
  await client.resource<MachineClass>(machineClasses, NAMESPACE).create({
    metadata: { name: 'small', namespace: NAMESPACE },
    provider: 'local',
    providerSpec: {},
    secretRef: { name: 'small', namespace: NAMESPACE },
  });
  const deployments = client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const { metadata } = await deployments.create({
    metadata: { name: 'workers', namespace: NAMESPACE },
    spec: { replicas: 4, selector: { matchLabels: labels }, template },
  });
  const status = { replicas: 4, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1 };
  await deployments.patch('workers', { type: 'merge', body: { status } }, { subresource: 'status' });
  return client.resource<MachineSet>(machineSets, NAMESPACE).create({
    metadata: {
      name: 'workers-a',
      namespace: NAMESPACE,
      annotations: { 'deployment.kubernetes.io/revision': '1' },
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'MachineDeployment', name: 'workers', uid: metadata.uid, controller: true },
      ],
    },
    spec: { replicas: 4, selector: { matchLabels: labels }, template },
  });
}

async function addMachine(
  client: KubeClient,
  set: MachineSet,
  name: string,
  phase: string,
  { description = '', node = false }: { description?: string; node?: boolean },
): Promise<Machine> {
  const made = await client.resource<Machine>(machines, NAMESPACE).create({
    metadata: {
      name,
      namespace: NAMESPACE,
      finalizers: ['machine.sapcloud.io/machine-controller-manager'],
      labels: defined({ ...labels, node: node ? name : undefined }),
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'MachineSet', name: 'workers-a', uid: set.metadata.uid, controller: true },
      ],
    },
    spec: { ...template.spec, providerID: `local:///z/${name}` },
  });
  if (node) {
    await client.resource(nodes).create({ metadata: { name }, spec: { providerID: `local:///z/${name}` } });
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    await client.resource(nodes).patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
  }
  await setPhase(client, name, phase, description);
  return made;
}

async function setPhase(client: KubeClient, name: string, phase: string, description = ''): Promise<void> {
  const lastUpdateTime = new Date().toISOString();
  const type = phase === 'Terminating' ? 'Delete' : 'Create';
  const state = phase === 'Failed' ? 'Failed' : 'Processing';
  const status = {
    currentStatus: { phase, lastUpdateTime },
    lastOperation: { description, state, type, lastUpdateTime },
  };
  const api = client.resource<Machine>(machines, NAMESPACE);
  await api.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
}

/** Creates a pod whose eviction a disruption budget always forbids. */
async function blockDrain(client: KubeClient, node: string): Promise<void> {
  const api = client.resource(pods, NAMESPACE);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true };
  await api.create({
    metadata: { name: 'web-0', namespace: NAMESPACE, labels: { app: 'web' }, ownerReferences: [owner] },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'pause' }] },
  });
  const ready = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await api.patch('web-0', { type: 'merge', body: ready }, { subresource: 'status' });
  const budgets = client.resource(podDisruptionBudgets, NAMESPACE);
  const spec = { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } };
  const { metadata } = await budgets.create({ metadata: { name: 'web', namespace: NAMESPACE }, spec } as never);
  const status = {
    currentHealthy: 1,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
    expectedPods: 1,
    observedGeneration: metadata.generation ?? 1,
  };
  await budgets.patch('web', { type: 'merge', body: { status } } as never, { subresource: 'status' });
}
