import { Annotations, Labels, type Machine, type MachineDeployment, phaseOf } from '@mcm/api';
import { withoutUndefined } from '@mcm/kube';
import { type ConditionChange, findCondition } from '../../objects/conditions.ts';
import { currentReplicas } from '../rollout/rolling-update.ts';
import { completion, createStep, growthOf, shareOf } from '../rollout/strategy-steps.ts';
import type { CountedSet } from '../state/status.ts';
import { NO_MARKS, ROLLOUT_BLOCKED, type Step } from '../state/step.ts';
import { hasMachines, type View } from '../state/view.ts';
import { zonesOf } from '../zones/zone-step.ts';
import { planInPlaceUpdate } from './in-place.ts';
import { sizesOfMoved } from './in-place-sizes.ts';
import { stopsRollout, withPolicy } from './kept-machines.ts';

/** The condition that reports that the manager cannot read the nodes (P-25). */
export const NO_NODES = {
  type: ROLLOUT_BLOCKED,
  status: 'True',
  reason: 'NoTargetCluster',
  message:
    'The in-place update is blocked: the manager has no target cluster with Nodes. Start the manager with --target-kubeconfig, or set spec.strategy.type to RollingUpdate or Recreate.',
} as const satisfies ConditionChange;

type Blocked = ConditionChange & { readonly reason: 'NoTargetCluster' | 'NodesNotReadable' };

const unseenNodes = (why: string): Blocked => ({
  ...NO_NODES,
  reason: 'NodesNotReadable',
  message: `The in-place update is blocked: the Nodes cannot be read (${why}). Apply the RBAC roles of this mcm version (docs/permissions.md).`,
});

function noNodesStep({ status }: MachineDeployment, condition: Blocked): Step {
  const { message, reason } = condition;
  const said = findCondition(status?.conditions ?? [], ROLLOUT_BLOCKED)?.reason === reason;
  return { condition, events: said ? [] : [{ type: 'Warning', reason, message }], because: message };
}

const MOST_NAMES = 3;

function failedUpdates(
  machines: readonly Machine[],
  nodeOf: View['nodeOf'],
  keeps: boolean,
): Extract<ConditionChange, { reason: 'InPlaceUpdateFailed' }> | undefined {
  const failed = machines.filter((machine) => phaseOf(machine) === 'InPlaceUpdateFailed');
  if (failed.length === 0) return undefined;
  const reported = failed
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ metadata: { name, labels } }) => {
      const node = nodeOf?.(labels?.[Labels.Node] ?? '');
      const why = node?.metadata.annotations?.[Annotations.UpdateFailedReason];
      const unreachable = node?.metadata.labels?.[Labels.UpdateResult] === undefined;
      return `${name} (${why ?? (unreachable ? 'the agent reported no result within the in-place update timeout' : 'no reason given')})`;
    });
  const more = failed.length > MOST_NAMES ? ` and ${failed.length - MOST_NAMES} more` : '';
  return {
    type: ROLLOUT_BLOCKED,
    status: 'True',
    reason: 'InPlaceUpdateFailed',
    message: `In-place updates failed: ${reported.join(', ')}${more}. If an update succeeds later, mcm accepts the result. ${keeps ? KEPT : REPLACED} To start another update, correct the template.`,
  };
}

const REPLACED =
  'mcm replaces a machine without a successful update after the health timeout, unless the timeout is disabled.';
const KEPT = `mcm keeps the machines and selects no other node, because ${Annotations.RolloutOnCannotUpdateInPlace} is Stop. To replace a machine, delete the machine.`;

const withMachines = ({ machines }: View, { set }: CountedSet) => ({
  set,
  machines: machines.get(set.metadata.uid) ?? [],
});

/** Completes the moves of machines between sets when the rollout was paused or scaled in the meantime. */
export function movedStep(view: View): Step | undefined {
  const { deployment, counted, replicas, limits } = view;
  const { current, old } = counted;
  if (deployment.spec.strategy?.type !== 'InPlaceUpdate' || !current) return undefined;
  const sets = { current: withMachines(view, current), old: old.map((one) => withMachines(view, one)) };
  const resize = sizesOfMoved({ ...sets, replicas, surge: limits.surge });
  return resize.size > 0
    ? { resize, because: 'setting spec.replicas of each MachineSet to its current number of machines' }
    : undefined;
}

export function inPlaceStep(view: View): Step {
  const { deployment, sizes, counted, limits } = view;
  const { current, old } = counted;
  if (!current || !sizes.current) {
    const manual = deployment.spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual';
    if (!old.some(hasMachines)) return createStep(view);
    return createStep(view, manual ? 0 : currentReplicas(sizes, { ...limits, ...growthOf(view) }));
  }
  const { nodeOf, nodesUnseen } = view;
  if (!nodeOf && old.some(hasMachines)) {
    return noNodesStep(deployment, nodesUnseen === undefined ? NO_NODES : unseenNodes(nodesUnseen));
  }
  const all = [...old, current].flatMap(({ set }) => view.machines.get(set.metadata.uid) ?? []);
  const keeps = view.rolloutSettings.keepsFailedUpdates === true;
  const step = planInPlaceUpdate({
    current: withMachines(view, current),
    old: old.map((one) => withMachines(view, one)),
    ...growthOf(view),
    surge: limits.surge,
    unavailable: limits.unavailable,
    ...shareOf(view),
    manual: deployment.spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual',
    stopped: keeps && stopsRollout(all),
    // Outside of a maintenance window, mcm starts no in-place update, but completes the updates in progress.
    ...withoutUndefined({ repairsFirst: view.closed ? true : undefined, zones: zonesOf(view) }),
    nodeOf: nodeOf ?? (() => undefined),
    postponed: new Set(view.postponed.map(({ machine }) => machine)),
  });
  const candidates = old.filter(hasMachines).map(({ set }) => set);
  const failed = failedUpdates(all, nodeOf, keeps);
  const said = findCondition(deployment.status?.conditions ?? [], ROLLOUT_BLOCKED as never)?.message;
  const news = failed && failed.message !== said;
  return {
    condition: failed,
    events: news ? [{ type: 'Warning', reason: failed.reason, message: failed.message }] : [],
    resize: step.resize,
    inPlace: { ...step.work, nodes: withPolicy(step.work.nodes, keeps, all, nodeOf) },
    nodes: { ...NO_MARKS, candidates },
    because: step.because,
    ...completion(view),
  };
}
