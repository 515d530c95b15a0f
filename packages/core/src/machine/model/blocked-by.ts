import type { Block, BlockCause, Machine, MachineStatus } from '@mcm/api';
import { type Blocking, blocksOf } from '../../blocked/blocks.ts';
import type { DrainPlan } from '../../drain/drain.ts';
import type { Blocker } from '../../drain/model/blockers.ts';
import type { PendingHook } from '../../hooks/pending.ts';
import { millis } from '../../values/timestamps.ts';
import type { MachineObservation } from './observation.ts';
import { type Action, nextAt, type Plan } from './plan.ts';

/** If a new entry of `blockedBy` is the only change of a status, mcm writes the status after this delay. */
const PAUSE_MS = 5_000;

const withBlocks = ({ blockedBy: _, ...status }: MachineStatus, blocks: readonly Block[]): MachineStatus =>
  blocks.length > 0 ? { ...status, blockedBy: [...blocks] } : status;

/**
 * Adds `status.blockedBy` to a plan. If the machine waits and the plan writes no status, a change of `blockedBy` causes
 * a status write.
 */
export function withBlockedBy(
  plan: Plan,
  { machine, blockedBy }: Pick<MachineObservation, 'machine' | 'blockedBy'>,
  now: Date,
): Plan {
  const stored = machine.status?.blockedBy ?? [];
  const waits = plan.next.kind !== 'continue';
  if (!waits && plan.blockedBy === undefined) return plan;
  const wanted = blocksOf(stored, blockedBy ? (plan.blockedBy ?? []) : [], now);
  if (wanted === stored) return plan;
  if (plan.actions.some((action) => action.do === 'writeStatus'))
    return { ...plan, actions: plan.actions.map((action) => blockedStatus(action, wanted)) };
  if (!waits) return plan;
  const due = Math.max(...stored.map(({ since }) => millis(since) + PAUSE_MS));
  if (now.getTime() < due) {
    const own = plan.next.kind === 'waitUntil' ? plan.next.instant : undefined;
    return { ...plan, next: nextAt(own, new Date(due)) };
  }
  const status = withBlocks(machine.status ?? {}, wanted);
  return { ...plan, actions: [...plan.actions, { do: 'writeStatus', status }] };
}

const blockedStatus = (action: Action, blocks: readonly Block[]): Action =>
  action.do === 'writeStatus' ? { ...action, status: withBlocks(action.status, blocks) } : action;

/** Returns the object that blocks a drain, such as a pod or the Node. */
function objectOf({ budgets = [], pods = [] }: Blocker, nodeName: string): Blocking['object'] & object {
  const [kind, [key = '']] =
    budgets.length === 1 ? (['PodDisruptionBudget', budgets] as const) : (['Pod', pods] as const);
  const [namespace, name] = key.split('/');
  if (namespace === undefined || name === undefined || (kind === 'Pod' && pods.length > 1))
    return { kind: 'Node', name: nodeName };
  return { kind, namespace, name };
}

/** Returns the objects that block a drain, except for pods that terminate in time. */
export const drainBlocks = ({ blockers }: DrainPlan, nodeName: string): readonly Blocking[] =>
  blockers.map((blocker) => ({ cause: 'Drain', object: objectOf(blocker, nodeName), reason: blocker.text }));

export const hookBlocks = (pending: readonly PendingHook[]): readonly Blocking[] =>
  pending.map(({ hook: { name, owner, stage } }) => ({
    cause: 'Hook',
    object: { kind: 'Hook', name: `${stage}/${name}` },
    reason: `the machine waits for ${stage} hook ${name} of ${owner}`,
  }));

export const keptBlocks = ({ status }: Machine, cause: BlockCause): readonly Blocking[] =>
  (status?.blockedBy ?? []).filter((block) => block.cause === cause);

export const capacityBlock = ({ machine }: MachineObservation, reason: string): Blocking => ({
  cause: 'Capacity',
  object: { kind: 'MachineClass', name: machine.spec.class.name },
  reason,
});

export const frozenBlock: Blocking = {
  cause: 'Frozen',
  reason: 'API servers were unreachable, so health checks are paused until the servers respond',
};
