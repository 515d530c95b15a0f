import {
  type KubeClient,
  type KubeObject,
  type PersistentVolumeClaim,
  type PodDisruptionBudget,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  type ResourceDefinition,
} from '@mcm/kube';
import { NAMESPACE } from '../world/world.ts';
import { volumeOfClaim } from './api-cache.ts';

export interface App {
  readonly name: string;
  readonly replicas: number;
  readonly volumes: boolean;
  minAvailable: number | undefined;
  readonly spread?: boolean;
}

interface Workload extends KubeObject {
  spec: object;
}

const workload = (kind: string, plural: string): ResourceDefinition<Workload> => ({
  group: 'apps',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});
const replicaSets = workload('ReplicaSet', 'replicasets');
const statefulSets = workload('StatefulSet', 'statefulsets');

const GRACE_SECONDS = 5;
export const CSI_DRIVER = 'csi.example';

/** Creates the workload of an application. */
export async function createApp(client: KubeClient, app: App): Promise<void> {
  const { name, replicas, volumes, minAvailable, spread } = app;
  const labels = { app: name };
  const pod = { containers: [{ name: 'main', image: 'pause' }], terminationGracePeriodSeconds: GRACE_SECONDS };
  const metadata = { name, namespace: NAMESPACE };
  if (minAvailable !== undefined) await setBudget(client, name, minAvailable);
  if (!volumes) {
    const spec = { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
    await client.resource(replicaSets, NAMESPACE).create({ metadata, spec });
    return;
  }
  for (let i = 0; i < replicas; i += 1) await createVolume(client, `data-${name}-${i}`);
  const constraint = { maxSkew: 2, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' };
  const constraints = spread
    ? { topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels: labels } }] }
    : {};
  const template = { metadata: { labels }, spec: { ...pod, ...constraints, volumes: [] } };
  const volumeClaimTemplates = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  const spec = {
    replicas,
    serviceName: name,
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: labels },
    template,
    volumeClaimTemplates,
  };
  await client.resource(statefulSets, NAMESPACE).create({ metadata, spec });
}

async function createVolume(client: KubeClient, claim: string): Promise<void> {
  const volume = volumeOfClaim(claim);
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  await client.resource(persistentVolumes).create({
    metadata: { name: volume },
    spec: {
      ...common,
      capacity: { storage: '1Gi' },
      csi: { driver: CSI_DRIVER, volumeHandle: volume },
      claimRef: { namespace: NAMESPACE, name: claim },
    },
  });
  const spec = { ...common, volumeName: volume, resources: { requests: { storage: '1Gi' } } };
  await client
    .resource<PersistentVolumeClaim>(persistentVolumeClaims, NAMESPACE)
    .create({ metadata: { name: claim, namespace: NAMESPACE }, spec });
  const body = { status: { phase: 'Bound' } };
  await client.resource(persistentVolumes).patch(volume, { type: 'merge', body }, { subresource: 'status' });
  await client
    .resource(persistentVolumeClaims, NAMESPACE)
    .patch(claim, { type: 'merge', body }, { subresource: 'status' });
}

export async function setBudget(client: KubeClient, app: string, minAvailable: number): Promise<void> {
  const budgets = client.resource<PodDisruptionBudget>(podDisruptionBudgets, NAMESPACE);
  const spec = { minAvailable, selector: { matchLabels: { app } } };
  const known = (await budgets.list()).items.some(({ metadata }) => metadata.name === app);
  if (known) await budgets.patch(app, { type: 'merge', body: { spec } });
  else await budgets.create({ metadata: { name: app, namespace: NAMESPACE }, spec });
}
