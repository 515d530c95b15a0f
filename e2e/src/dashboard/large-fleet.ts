import {
  API_VERSION,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type KubeClient, type Lease, leases, type Random, withoutUndefined } from '@mcm/kube';

export interface FleetPart {
  readonly name: string;
  readonly machines: number;
  readonly states?: Readonly<Partial<Record<State, number>>>;
  readonly old?: number;
  readonly problem?: string;
  readonly paused?: boolean;
}

export type State = 'creating' | 'joining' | 'refused' | 'unknown' | 'failed' | 'leaving';

const ZONES = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];
const NAMESPACE = 'default';
const REASON = {
  creating: 'Creating machine on cloud provider',
  joining: '',
  refused:
    'machine codes error: code = [ResourceExhausted] message = [InsufficientInstanceCapacity: no capacity for m6i.2xlarge in eu-west-1b]',
  unknown: 'Machine is unhealthy - changing MachinePhase to Unknown. Node Conditions: [{Type:Ready Status:Unknown}]',
  failed: 'Health checks failing for 10m0s: kubelet stopped posting node status',
  leaving: 'Drain: waiting for pods to end',
} as const satisfies Record<State, string>;

const PHASES: Readonly<Record<State, string>> = {
  creating: '',
  joining: 'Pending',
  refused: 'CrashLoopBackOff',
  unknown: 'Unknown',
  failed: 'Failed',
  leaving: 'Terminating',
};

export function statusOf(state: State | 'running', at = new Date()): NonNullable<Machine['status']> {
  const lastUpdateTime = at.toISOString();
  const isBad = state === 'refused' || state === 'failed';
  return {
    currentStatus: { phase: state === 'running' ? 'Running' : PHASES[state], lastUpdateTime },
    lastOperation: {
      description: state === 'running' ? 'Machine joined the cluster successfully' : REASON[state],
      state: state === 'running' ? 'Successful' : isBad ? 'Failed' : 'Processing',
      type: state === 'leaving' ? 'Delete' : 'Create',
      lastUpdateTime,
    },
  } as NonNullable<Machine['status']>;
}

/** Creates deployments with many machines in three zones. */
export async function addLargeFleet(
  client: KubeClient,
  bands: readonly FleetPart[],
  random: Random,
): Promise<readonly string[]> {
  await client.resource<MachineClass>(machineClasses, NAMESPACE).create({
    metadata: { name: 'm6i-2xlarge', namespace: NAMESPACE },
    provider: 'AWS',
    providerSpec: { machineType: 'm6i.2xlarge' },
    secretRef: { name: 'aws', namespace: NAMESPACE },
  } as never);
  const names: string[] = [];
  for (const band of bands) names.push(...(await addBand(client, band, random)));
  return names;
}

export async function addLeases(client: KubeClient): Promise<void> {
  for (const name of ['machine-controller-manager', 'machine-controller']) {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    await client.resource<Lease>(leases, NAMESPACE).create({
      metadata: { name, namespace: NAMESPACE },
      spec: { holderIdentity: `${name}-7d4b9c-x2x9q`, leaseDurationSeconds: 3_600, renewTime },
    } as never);
  }
}

async function addBand(client: KubeClient, band: FleetPart, random: Random): Promise<readonly string[]> {
  const labels = { pool: band.name };
  const template = { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'm6i-2xlarge' } } };
  const spec = { replicas: band.machines, selector: { matchLabels: labels }, template };
  const api = client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const { metadata } = await api.create({
    metadata: { name: band.name, namespace: NAMESPACE },
    spec: { ...spec, paused: band.paused === true ? true : undefined },
  } as never);
  const bad = Object.values(band.states ?? {}).reduce((sum, each) => sum + each, 0);
  const status = {
    replicas: band.machines,
    updatedReplicas: band.machines - (band.old ?? 0),
    readyReplicas: band.machines - bad,
    availableReplicas: band.machines - bad,
    unavailableReplicas: bad,
    observedGeneration: metadata.generation ?? 1,
    conditions:
      band.problem !== undefined
        ? [
            {
              type: 'Progressing',
              status: 'False',
              reason: 'ProgressDeadlineExceeded',
              message: band.problem,
              lastTransitionTime: new Date().toISOString(),
              lastUpdateTime: new Date().toISOString(),
            },
          ]
        : undefined,
  };
  await api.patch(band.name, { type: 'merge', body: { status } }, { subresource: 'status' });
  const set = await client.resource<MachineSet>(machineSets, NAMESPACE).create({
    metadata: {
      name: `${band.name}-6f7c9`,
      namespace: NAMESPACE,
      labels,
      annotations: { 'deployment.kubernetes.io/revision': '1' },
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'MachineDeployment', name: band.name, uid: metadata.uid, controller: true },
      ],
    },
    spec,
  } as never);
  const states = Object.entries(band.states ?? {}).flatMap(([state, number]) =>
    Array<State>(number).fill(state as State),
  );
  const made: Promise<string>[] = [];
  for (let index = 0; index < band.machines; index += 1) {
    const suffix = Math.floor(random.next() * 36 ** 5)
      .toString(36)
      .padStart(5, '0');
    const state = states[Math.floor(index / Math.max(1, Math.floor(band.machines / Math.max(1, states.length))))];
    const isTurn = index % Math.max(1, Math.floor(band.machines / Math.max(1, states.length))) === 0;
    made.push(addOne(client, set, `${band.name}-6f7c9-${suffix}`, isTurn ? state : undefined, ZONES[index % 3] ?? ''));
  }
  return Promise.all(made);
}

async function addOne(
  client: KubeClient,
  set: MachineSet,
  name: string,
  state: State | undefined,
  zone: string,
): Promise<string> {
  const api = client.resource<Machine>(machines, NAMESPACE);
  const { labels = {} } = set.metadata;
  const hasVm = state !== 'creating' && state !== 'refused';
  const owner = { apiVersion: API_VERSION, kind: 'MachineSet', name: set.metadata.name, uid: set.metadata.uid };
  await api.create({
    metadata: {
      name,
      namespace: NAMESPACE,
      finalizers: ['machine.sapcloud.io/machine-controller'],
      labels: {
        ...labels,
        ...withoutUndefined({ node: hasVm && state !== 'joining' ? `ip-${name.slice(-5)}` : undefined }),
      },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: {
      class: { kind: 'MachineClass', name: 'm6i-2xlarge' },
      nodeTemplate: { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } },
      providerID: hasVm ? `aws:///${zone}/i-${name.slice(-5)}` : undefined,
    },
  } as never);
  const status = statusOf(state ?? 'running');
  await api.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
  if (state === 'leaving') await api.delete(name);
  return name;
}
