import { Annotations, Labels, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import {
  type CsiNode,
  createInformer,
  csiNodes,
  Demand,
  type Informer,
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  type Secret,
  secrets,
  type VolumeAttachment,
  volumeAttachments,
} from '@mcm/kube';
import { BY_UNREST, byUnrest } from '../control/caches.ts';
import { type CensusSources, UnreachableCensus } from '../disruption/census.ts';
import { replacementGroup } from '../disruption/replacements.ts';
import { secretKeysOf } from '../driver/schemas/credentials.ts';
import { instanceKey } from '../node/instance.ts';
import { AttachLimits } from './attach-limits.ts';
import { budgetTerm } from './budget-index.ts';
import { projectClaim, projectCsiNode, projectNode, projectPod, projectVolume } from './projections.ts';

export interface TargetCaches {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly attachments: Informer<VolumeAttachment>;
  readonly budgets: Informer<PodDisruptionBudget>;
  /** The attach limits of the CSI drivers. Without permission to read CSINodes, the limits are unknown. */
  readonly csiNodes: Informer<CsiNode>;
}

export type DrainCaches = Omit<TargetCaches, 'csiNodes'>;

export interface Caches {
  readonly machines: Informer<Machine>;
  /** The cache of classes has the index `secret` with the keys of all Secrets that a class references. */
  readonly classes: Informer<MachineClass>;
  readonly secrets: Informer<Secret>;
  readonly census: UnreachableCensus;
  readonly target: TargetCaches | undefined;
  readonly attachLimits: AttachLimits | undefined;
  /** If `drains` is undefined, the caches of the target cluster are always open. */
  readonly drains: Demand | undefined;
}

const isUnhealthy = ({ status }: Machine): boolean =>
  status?.currentStatus?.phase === 'Unknown' || status?.currentStatus?.phase === 'InPlaceUpdateFailed';

/** Returns true if a Machine is deleted because of an interruption, such as a spot reclaim. */
const isLeavingByInterruption = ({ metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[Annotations.Interruption] !== undefined;

const present = (value: string | undefined): readonly string[] => (value ? [value] : []);

export interface CacheOptions {
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
  readonly region?: CensusSources['region'];
  /** Whether the caches that only drains need are open only while a drain is in progress. */
  readonly onDemand?: boolean | undefined;
}

/** The key of the index `unrecorded`, which contains the Machines without a provider ID. */
export const UNRECORDED = 'unrecorded';

/**
 * The time for which the caches stay open after a drain. A rollout drains one node after the other, so the next drain
 * often starts within this time.
 */
const DRAIN_LINGER_MS = 5 * 60_000;

export function createCaches({
  control,
  target: targetClient,
  namespace,
  runtime,
  region,
  onDemand = false,
}: CacheOptions): Caches {
  const drains = onDemand && targetClient ? new Demand({ clock: runtime.clock, lingerMs: DRAIN_LINGER_MS }) : undefined;
  const target = targetClient && targetCaches(targetClient, runtime, { demand: drains });
  const classes = createInformer(control, machineClasses, { ...runtime, namespace, indexes: { secret: secretKeysOf } });
  const cached = createInformer(control, machines, {
    ...runtime,
    namespace,
    indexes: {
      node: (machine) => present(machine.metadata.labels?.[Labels.Node]),
      class: (machine) => present(machine.spec.class.name),
      classUsers: ({ spec }) => (spec.class.kind === 'MachineClass' ? present(spec.class.name) : []),
      group: (machine) => [replacementGroup(machine)],
      unhealthyGroup: (machine) => (isUnhealthy(machine) ? [replacementGroup(machine)] : []),
      interruptedGroup: (machine) => (isLeavingByInterruption(machine) ? [replacementGroup(machine)] : []),
      instance: ({ spec }) => (spec.providerID ? [instanceKey(spec.providerID)] : []),
      unrecorded: ({ spec }) => (spec.providerID ? [] : [UNRECORDED]),
      [BY_UNREST]: byUnrest,
    },
  });
  return {
    machines: cached,
    classes,
    secrets: createInformer(control, secrets, { ...runtime, namespace }),
    census: new UnreachableCensus({ machines: cached, classes, nodes: target?.nodes, region }),
    target,
    attachLimits: target && new AttachLimits(target),
    drains,
  };
}

/** With `demand`, only the cache of Nodes is open while no drain is in progress. */
export const targetCaches = (
  client: KubeClient,
  runtime: InformerRuntime,
  only: { readonly nodes?: string; readonly pods?: string; readonly demand?: Demand | undefined } = {},
): TargetCaches => ({
  nodes: createInformer(client, nodes, {
    ...runtime,
    fieldSelector: only.nodes || undefined,
    project: projectNode,
    indexes: {
      machine: (node) => present(node.metadata.labels?.[Labels.MachineName]),
      instance: ({ spec }) => (spec.providerID ? [instanceKey(spec.providerID)] : []),
    },
  }),
  pods: createInformer(client, pods, {
    ...runtime,
    fieldSelector: only.pods || undefined,
    demand: only.demand,
    project: projectPod,
    indexes: { node: (pod) => present(pod.spec.nodeName) },
    // A pod has 7 kB or more, and the process reads a whole page at once. The page size therefore determines the peak
    // memory.
    pageSize: 50,
  }),
  claims: createInformer(client, persistentVolumeClaims, { ...runtime, demand: only.demand, project: projectClaim }),
  volumes: createInformer(client, persistentVolumes, { ...runtime, demand: only.demand, project: projectVolume }),
  attachments: createInformer(client, volumeAttachments, {
    ...runtime,
    demand: only.demand,
    indexes: {
      node: (attachment) => [attachment.spec.nodeName],
      volume: (attachment) => present(attachment.spec.source.persistentVolumeName),
    },
  }),
  budgets: createInformer(client, podDisruptionBudgets, {
    ...runtime,
    demand: only.demand,
    indexes: { term: (budget) => [budgetTerm(budget)] },
  }),
  csiNodes: createInformer(client, csiNodes, { ...runtime, demand: only.demand, project: projectCsiNode }),
});

export const informersOf = ({
  target,
  census: _census,
  attachLimits: _limits,
  drains: _drains,
  ...control
}: Caches): readonly Informer<KubeObject>[] =>
  [...Object.values(control), ...Object.values(target ?? {})] as Informer<KubeObject>[];
