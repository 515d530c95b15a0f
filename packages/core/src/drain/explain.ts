import type { UndrainablePolicy } from '../settings/undrainable.ts';
import { ENDING_BUFFER_MS, planDrain } from './drain.ts';
import { type Blocker, nameOf } from './model/blockers.ts';
import { protectedByBudgets } from './model/budgets.ts';
import type { DrainObservation, DrainPod, VolumeMove } from './model/observation.ts';
import { verdictOf } from './model/pod-filters.ts';
import { beginMove, byEviction, byPriority } from './volumes/volumes.ts';

/** The explanation of one pod. */
export interface ExplainedPod {
  readonly pod: string;
  /**
   * The next action for the pod:
   * - `evict`: the drain evicts the pod now.
   * - `delete`: the drain deletes the pod with grace period 0.
   * - `turn`: the pod waits for volumes of other pods, for pods with a lower order, or for its budget.
   * - `blocked`: the objects in `blockers` block the eviction of the pod.
   * - `stays`: the drain ignores the pod.
   */
  readonly fate: 'evict' | 'delete' | 'leaving' | 'turn' | 'blocked' | 'stays';
  readonly because: string;
  readonly ends?: { readonly by: Date; readonly overdueFrom: Date };
  readonly volumes: readonly string[];
  readonly budgets: readonly string[];
}

/** The actions of a drain now and later, and the objects that block the drain. */
export interface DrainExplanation {
  readonly node: string;
  /** The pods in the order of eviction: pods without volumes, pods with volumes, then pods that the drain ignores. */
  readonly pods: readonly ExplainedPod[];
  readonly blockers: readonly Pick<Blocker, 'text' | 'failed' | 'hint' | 'pods'>[];
  readonly detaching?: readonly string[] | undefined;
  readonly drained: boolean;
  readonly policy: UndrainablePolicy;
  /**
   * From this time on, the drain deletes pods instead of evicting them. The time is undefined if the policy forbids the
   * deletion.
   */
  readonly deletesFrom?: Date | undefined;
  /** The end of the drain timeout. After this time, the policy determines the actions of the drain. */
  readonly overAt: Date;
}

/**
 * Explains a drain with the plan that the controller executes.
 * @param detaching volumes of evicted pods that are still attached to the node, for a process that did not evict the
 * pods
 */
export function explainDrain(o: DrainObservation, now: Date, detaching: readonly string[] = []): DrainExplanation {
  const plan = planDrain(remembering(o, now, detaching), now);
  const blockers = new Map(plan.blockers.map(({ text, failed, hint, pods }) => [text, { text, failed, hint, pods }]));
  const fates = new Map<string, ExplainedPod['fate']>([
    ...plan.evict.map(({ uid }) => [uid, 'evict'] as const),
    ...plan.remove.map(({ uid }) => [uid, 'delete'] as const),
  ]);
  const turns = waitingForBudgets(plan.evict);
  const policy = o.policy ?? 'Force';
  return {
    node: o.nodeName,
    pods: o.pods.toSorted(inOrder).map((pod) => explainPod(pod, fates.get(pod.uid), plan.blockers, turns.get(pod.uid))),
    blockers: [...blockers.values()],
    detaching: detaching.length > 0 ? detaching : undefined,
    drained: plan.drained,
    policy,
    deletesFrom: policy === 'Force' ? o.evictUntil : undefined,
    overAt: o.forceAt,
  };
}

/** Adds the evicted pods to the record of the drain, because other pods wait for the volumes of evicted pods. */
function remembering(o: DrainObservation, now: Date, detaching: readonly string[]): DrainObservation {
  const moves = new Map(o.memory.moves);
  for (const volume of detaching) {
    const pod = { namespace: '', name: '', uid: `of ${volume}` };
    moves.set(pod.uid, { pod, volumes: [volume], returns: false, goneAt: now } satisfies VolumeMove);
  }
  return { ...o, memory: { ...o.memory, moves } };
}

const stays = (pod: DrainPod): boolean => verdictOf(pod).pod === 'stay';

const inOrder = (a: DrainPod, b: DrainPod): number =>
  Number(stays(a)) - Number(stays(b)) || (stays(a) ? byPriority(a, b) : byEviction(a, b));

/**
 * Returns the pods that wait for other pods of their budget, by UID. An evicted pod without a controller uses its
 * budget forever, because no controller creates the pod again.
 */
function waitingForBudgets(evicted: readonly DrainPod[]): ReadonlyMap<string, string> {
  const used = new Map<string, number>();
  const bare = new Map<string, DrainPod>();
  const waiting = new Map<string, string>();
  for (const pod of evicted.filter(protectedByBudgets)) {
    const budgets = pod.budgets.filter(({ stale, sparesUnready }) => !stale && (pod.ready || !sparesUnready));
    const full = budgets.find(({ key, allowed }) => (used.get(key) ?? 0) >= allowed);
    if (full === undefined)
      for (const { key } of budgets) {
        used.set(key, (used.get(key) ?? 0) + 1);
        if (pod.ownerKind === undefined) bare.set(key, pod);
      }
    else {
      const count = `${full.allowed} disruption${full.allowed === 1 ? '' : 's'}`;
      const user = bare.get(full.key);
      const forever = user ? `, and no controller starts pod ${nameOf(user)} again` : '';
      waiting.set(pod.uid, `pod disruption budget ${full.key} allows ${count} at a time${forever}`);
    }
  }
  return waiting;
}

function explainPod(
  pod: DrainPod,
  fate: ExplainedPod['fate'] | undefined,
  blockers: readonly Blocker[],
  turn: string | undefined,
): ExplainedPod {
  const verdict = verdictOf(pod);
  const blocker = blockers.find((each) => each.pods?.includes(nameOf(pod)));
  const rest = {
    pod: nameOf(pod),
    volumes: pod.volumes,
    budgets: pod.budgets.map(({ key }) => key).sort(),
  };
  if (verdict.pod === 'stay') return { ...rest, fate: 'stays', because: verdict.because };
  if (verdict.pod === 'wait' && !blocker) return { ...rest, fate: 'turn', because: verdict.because };
  if (turn !== undefined) return { ...rest, fate: 'turn', because: turn };
  if (fate) return { ...rest, fate, because: verdict.because };
  if (blocker) return { ...rest, fate: 'blocked', because: blocker.text };
  if (pod.dueAt) {
    const ends = { by: pod.dueAt, overdueFrom: new Date(pod.dueAt.getTime() + ENDING_BUFFER_MS) };
    return { ...rest, fate: 'leaving', because: verdict.because, ends };
  }
  return beginMove(pod)
    ? { ...rest, fate: 'turn', because: 'waiting for the volumes of other pods' }
    : { ...rest, fate: 'leaving', because: 'the pod was evicted' };
}
