import type { Machine } from '@mcm/api';
import { Annotations, isForceDeletion, parseTime } from '@mcm/api';
import { controllerOf, type Node, type Pod, type PodDisruptionBudget } from '@mcm/kube';
import type { TargetCaches } from '../machine/caches.ts';
import { unresponsiveAt } from '../machine/conditions.ts';
import { evictionPeriodMs, type MachineSettings } from '../machine/settings.ts';
import { after } from '../machine/timestamps.ts';
import { budgetSelects, drainBudget } from './budgets.ts';
import type { Attachment, DrainMemory, DrainObservation, DrainPod } from './observation.ts';
import { trackVolumes } from './volumes.ts';

export interface ObserveDrainOptions {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  readonly node: Node;
  readonly caches: TargetCaches;
  readonly memory: DrainMemory;
  readonly volumeWindow: number;
  readonly now: Date;
}

const DEFAULT_GRACE_SECONDS = 30;

/** Reads what a drain of the machine's node decides on. Costs what the node's pods and attachments cost. */
export function observeDrain(options: ObserveDrainOptions): DrainObservation {
  const { machine, settings, node, caches, memory, now } = options;
  const nodeName = node.metadata.name;
  const deletion = machine.metadata.deletionTimestamp;
  const unresponsive = unresponsiveAt(machine, settings.unresponsiveNodeMs);
  const forceAt = earliest(after(deletion, settings.drainTimeoutMs), unresponsive);
  const moving = [...memory.moves.values()].flatMap(({ volumes }) => volumes);
  const seen: DrainObservation = {
    nodeName,
    pods: observePods(caches.pods.store.byIndex('node', nodeName), caches),
    attachments: observeAttachments(nodeName, caches),
    attachedElsewhere: new Set(moving.filter((volume) => isAttachedElsewhere(volume, nodeName, caches))),
    tracksVolumes: true,
    memory,
    evictUntil: after(deletion, evictionPeriodMs(settings)),
    forceAt,
    forced: isForceDeletion(machine),
    detachTimeoutMs: settings.volumeDetachTimeoutMs,
    reattachTimeoutMs: settings.volumeReattachTimeoutMs,
    volumeWindow: options.volumeWindow,
  };
  return { ...seen, memory: trackVolumes(seen, now) };
}

const earliest = (a: Date, b: Date | undefined): Date => (b && b < a ? b : a);

const observeAttachments = (nodeName: string, caches: TargetCaches): Attachment[] =>
  caches.attachments.store.byIndex('node', nodeName).flatMap(({ metadata, spec }) => {
    const volume = spec.source.persistentVolumeName;
    return volume ? [{ name: metadata.name, volume, deleting: metadata.deletionTimestamp !== undefined }] : [];
  });

const isAttachedElsewhere = (volume: string, nodeName: string, caches: TargetCaches): boolean =>
  caches.attachments.store
    .byIndex('volume', volume)
    .some(({ spec, status }) => status?.attached === true && spec.nodeName !== nodeName);

function observePods(pods: readonly Pod[], caches: TargetCaches): DrainPod[] {
  const volumes = pods.map((pod) => volumesOf(pod, caches));
  const uses = new Map<string, number>();
  for (const volume of volumes.flat()) uses.set(volume, (uses.get(volume) ?? 0) + 1);
  const budgets = budgetsByNamespace(caches);
  return pods.map((pod, i) =>
    observePod(
      pod,
      (volumes[i] ?? []).filter((volume) => uses.get(volume) === 1),
      budgets,
    ),
  );
}

type BudgetsOf = (namespace: string) => readonly PodDisruptionBudget[];

function budgetsByNamespace(caches: TargetCaches): BudgetsOf {
  const found = new Map<string, readonly PodDisruptionBudget[]>();
  return (namespace) => {
    const budgets = found.get(namespace) ?? caches.budgets.store.byIndex('namespace', namespace);
    found.set(namespace, budgets);
    return budgets;
  };
}

function observePod(pod: Pod, volumes: readonly string[], budgetsOf: BudgetsOf): DrainPod {
  const { metadata, spec, status } = pod;
  const namespace = metadata.namespace ?? '';
  const ownerKind = controllerOf(pod)?.kind;
  const dueAt = parseTime(metadata.deletionTimestamp);
  const claims = spec.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral) ?? false;
  return {
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    phase: status?.phase ?? '',
    ready: status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
    graceMs: (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000,
    priority: spec.priority ?? 0,
    mirror: metadata.annotations?.[Annotations.MirrorPod] !== undefined,
    localStorage: spec.volumes?.some(({ emptyDir }) => emptyDir) ?? false,
    hasClaims: claims,
    volumes,
    budgets: budgetsOf(namespace)
      .filter((budget) => budgetSelects(budget, metadata.labels))
      .map(drainBudget),
    ...(ownerKind === undefined ? {} : { ownerKind }),
    ...(dueAt === undefined ? {} : { dueAt }),
  };
}

/** PersistentVolumes of a pod, each once; those of claims that are not bound, or not known, are none. */
function volumesOf(pod: Pod, caches: TargetCaches): readonly string[] {
  const names = (pod.spec.volumes ?? []).flatMap((volume) => {
    const claim = volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
    if (!claim) return [];
    const bound = caches.claims.store.get(`${pod.metadata.namespace}/${claim}`)?.spec.volumeName;
    // What is never attached (NFS and the like) need not be detached either.
    return bound && caches.attachments.store.byIndex('volume', bound).length > 0 ? [bound] : [];
  });
  return [...new Set(names)];
}
