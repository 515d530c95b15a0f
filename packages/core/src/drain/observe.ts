import type { Machine } from '@mcm/api';
import {
  Annotations,
  InPlaceUpdateReasons,
  isForceDeletion,
  Labels,
  NodeConditions,
  parseTime,
  TRUE,
  TRUE_LOWER,
} from '@mcm/api';
import { controllerOf, isReady, type Node, type Pod, type PodDisruptionBudget, refusalOf } from '@mcm/kube';
import type { AttachLimits } from '../cluster/attach-limits.ts';
import { podTerms } from '../cluster/budget-index.ts';
import type { DrainCaches } from '../cluster/caches.ts';
import type { VolumeSource } from '../driver/contract/driver.ts';
import type { InterruptionTimes } from '../interruption/deadlines.ts';
import { unresponsiveAt } from '../settings/conditions.ts';
import type { DrainRule } from '../settings/drain-rules.ts';
import { evictionPeriodMs, type MachineSettings } from '../settings/settings.ts';
import type { PolicyChoice } from '../settings/undrainable.ts';
import { after } from '../values/timestamps.ts';
import { budgetSelects, drainBudget } from './model/budgets.ts';
import type { AttachRoom, DrainMemory, DrainObservation, DrainPod, UnseenByDrain } from './model/observation.ts';
import { withoutFuture } from './model/rebase.ts';
import { inOrder, ruleFor } from './model/rules.ts';
import { VolumeFinder } from './volumes/volume-finder.ts';
import { trackVolumes } from './volumes/volumes.ts';

export interface ObserveDrainOptions {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  readonly node: Node;
  readonly caches: DrainCaches;
  /**
   * Returns the cloud's ID of a volume. The status of the Node contains this ID. If the cloud's ID of a volume is
   * unknown, only VolumeAttachments show where the volume is attached.
   */
  readonly volumeIdOf: (source: VolumeSource) => string | undefined;
  readonly memory: DrainMemory;
  readonly volumeWindow: number;
  readonly limits?: Pick<AttachLimits, 'roomOnOtherNodes'> | undefined;
  readonly shared?: ((drivers: Iterable<string>) => AttachRoom['shared']) | undefined;
  readonly now: Date;
  /** The time until which the state of the Node may be outdated. Until then, no Node counts as unresponsive. */
  readonly healthDoubtedUntil?: Date | undefined;
  readonly requests?: DrainObservation['requests'];
  readonly choice?: PolicyChoice;
  readonly interrupted?: InterruptionTimes | undefined;
  readonly rules?: readonly DrainRule[];
  /** The reason why the class of the machine cannot be read. */
  readonly unseenRules?: string | undefined;
}

const DEFAULT_GRACE_SECONDS = 30;

/** Reads the state of a drain from the caches. */
export function observeDrain(options: ObserveDrainOptions): DrainObservation {
  const { machine, settings, node, caches, now } = options;
  const memory = withoutFuture(options.memory, now);
  const nodeName = node.metadata.name;
  const deletion = machine.metadata.deletionTimestamp;
  // The drain timeout starts with the deletion of the machine, the selection of the node for an in-place update, or the
  // preservation.
  const selected = node.status?.conditions?.find(
    ({ type, reason }) => type === NodeConditions.InPlaceUpdate && reason === InPlaceUpdateReasons.SelectedForUpdate,
  );
  const since = deletion ?? selected?.lastTransitionTime ?? machine.status?.currentStatus?.lastUpdateTime;
  const forced = deletion ? isForceDeletion(machine) : machine.metadata.labels?.[Labels.ForceDrain] === TRUE;
  const unresponsive = latest(unresponsiveAt(machine, node, settings), options.healthDoubtedUntil);
  const timeout = after(since, settings.drainTimeoutMs);
  const byHealth = earliest(timeout, unresponsive);
  const { interrupted } = options;
  const forceAt = earliest(byHealth, interrupted?.forceAt);
  const moving = [...memory.moves.values()].flatMap(({ volumes }) => volumes);
  const volumes = new VolumeFinder(caches, options.volumeIdOf);
  const evictUntil = earliest(after(since, evictionPeriodMs(settings)), interrupted?.forceAt);
  // mcm ignores drain rules and their orders if the VM ends soon, or if the eviction timeout has passed.
  const isLate = interrupted?.short === true || (now >= evictUntil && (options.choice?.policy ?? 'Force') === 'Force');
  const observed = observePods(caches.pods.store.byIndex('node', nodeName), volumes, caches, options.rules ?? []);
  const pods = isLate ? observed.map(withoutWait) : inOrder(observed);
  const used = [...pods.flatMap((pod) => pod.volumes), ...moving];
  const seen: DrainObservation = {
    nodeName,
    pods,
    attachments: volumes.attachedTo(node, used),
    attachedElsewhere: new Set(moving.filter((volume) => volumes.isAttachedElsewhere(volume, nodeName))),
    tracksVolumes: caches.attachments.refused?.code !== 404,
    ...unseenOf(node, pods, options, memory),
    podsUnproven: caches.pods.proven ? undefined : true,
    requests: options.requests,
    memory,
    evictUntil,
    forceAt,
    unresponsive: byHealth < timeout ? true : undefined,
    interrupted: forceAt < byHealth ? true : undefined,
    urgent: interrupted?.short ? true : undefined,
    forced,
    forcedBy: deletion ? `${Labels.ForceDeletion}=${TRUE_LOWER}` : `${Labels.ForceDrain}=${TRUE}`,
    detachTimeoutMs: settings.volumeDetachTimeoutMs,
    reattachTimeoutMs: settings.volumeReattachTimeoutMs,
    volumeWindow: options.volumeWindow,
    attach: options.limits || options.shared ? attachRoom(node, volumes, used, options) : undefined,
    policy: options.choice?.policy,
    policyProblem: options.choice?.problem || undefined,
  };
  return { ...seen, memory: trackVolumes(seen, now) };
}

function attachRoom(
  node: Node,
  finder: VolumeFinder,
  volumes: readonly string[],
  { limits, shared }: Pick<ObserveDrainOptions, 'limits' | 'shared'>,
): AttachRoom {
  const driverOf = new Map<string, string>();
  const room = new Map<string, number>();
  for (const volume of volumes) {
    const driver = finder.driverToMove(volume, node.metadata.name);
    if (driver === undefined) continue;
    driverOf.set(volume, driver);
    const left = limits?.roomOnOtherNodes(node, driver);
    if (left !== undefined) room.set(driver, left);
  }
  return shared ? { room, driverOf, shared: shared(new Set(driverOf.values())) } : { room, driverOf };
}

const earliest = (a: Date, b: Date | undefined): Date => (b && b < a ? b : a);
const latest = (a: Date | undefined, b: Date | undefined): Date | undefined => (a && b && b > a ? b : a);

/** Removes a drain rule that delays a pod, but keeps a rule that skips a pod. */
const withoutWait = ({ rule, ...pod }: DrainPod): DrainPod => (rule?.behavior === 'Skip' ? { ...pod, rule } : pod);

function observePods(
  pods: readonly Pod[],
  finder: VolumeFinder,
  caches: DrainCaches,
  rules: readonly DrainRule[],
): DrainPod[] {
  const volumes = pods.map((pod) => finder.of(pod));
  const uses = new Map<string, number>();
  for (const volume of volumes.flat()) uses.set(volume, (uses.get(volume) ?? 0) + 1);
  return pods.map((pod, i) =>
    observePod(
      pod,
      (volumes[i] ?? []).filter((volume) => uses.get(volume) === 1),
      caches,
      rules,
    ),
  );
}

/** Returns the reasons why mcm cannot read pods, volumes or drain rules. */
function unseenOf(
  { status }: Node,
  pods: readonly DrainPod[],
  { caches, unseenRules: rules }: ObserveDrainOptions,
  { moves }: DrainMemory,
): Pick<DrainObservation, 'unseen'> {
  const mayHold =
    moves.size > 0 ||
    pods.some(({ hasClaims }) => hasClaims) ||
    Boolean(status?.volumesAttached?.length || status?.volumesInUse?.length);
  const kinds = [caches.claims, caches.volumes, caches.attachments].filter(({ refused }) => refused?.code !== 404);
  const podsUnseen = refusalOf(caches.pods) ?? (caches.pods.synced ? undefined : 'the list of pods is not complete');
  const volumes = mayHold ? kinds.flatMap((informer) => refusalOf(informer) ?? []).join(', ') : '';
  const unseen: UnseenByDrain = {
    pods: podsUnseen,
    volumes: volumes === '' ? undefined : volumes,
    rules,
  };
  return podsUnseen === undefined && volumes === '' && rules === undefined ? {} : { unseen };
}

const budgetsOf = (caches: DrainCaches, namespace: string, labels: Labelled): readonly PodDisruptionBudget[] =>
  (caches.budgets.refused ? [] : podTerms(namespace, labels))
    .flatMap((term) => caches.budgets.store.byIndex('term', term))
    .filter((budget) => budgetSelects(budget, labels));

type Labelled = Readonly<Record<string, string>> | undefined;

function observePod(pod: Pod, volumes: readonly string[], caches: DrainCaches, rules: readonly DrainRule[]): DrainPod {
  const { metadata, spec, status } = pod;
  const namespace = metadata.namespace ?? '';
  const ownerKind = controllerOf(pod)?.kind;
  const dueAt = dueAtOf(pod);
  const claims = spec.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral) ?? false;
  return {
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    phase: status?.phase ?? '',
    ready: isReady(pod),
    graceMs: (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000,
    priority: spec.priority ?? 0,
    mirror: metadata.annotations?.[Annotations.MirrorPod] !== undefined,
    localStorage: spec.volumes?.some(({ emptyDir }) => emptyDir) ?? false,
    hasClaims: claims,
    volumes,
    budgets: budgetsOf(caches, namespace, metadata.labels).map(drainBudget),
    ownerKind,
    dueAt,
    rule: ruleFor(rules, namespace, metadata.labels),
  };
}

/** Returns the expected end of a terminating pod, including its grace period. */
export function dueAtOf({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): Date | undefined {
  const due = parseTime(metadata.deletionTimestamp);
  if (!due || metadata.deletionGracePeriodSeconds === undefined) return due;
  const granted = metadata.deletionGracePeriodSeconds * 1_000;
  const grace = (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000;
  return new Date(due.getTime() + Math.max(grace - granted, 0));
}
