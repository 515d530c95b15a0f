import { Annotations, ConditionReasons, counted, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import { hasFailures } from '../../disruption/repairs.ts';
import { hasRolloutSettings } from '../../rollout/rollout-gate.ts';
import { planScaling } from '../scaling/scaling.ts';
import type { GrowthRule } from '../state/growth.ts';
import { newSet } from '../state/new-set.ts';
import { missingClass } from '../state/problems.ts';
import { planRollback } from '../state/rollback.ts';
import { NO_MARKS, type Step, scaledEvent } from '../state/step.ts';
import type { View } from '../state/view.ts';
import { surplusHistory } from './history.ts';
import { planRecreate } from './recreate.ts';
import { currentReplicas, planRollingUpdate } from './rolling-update.ts';

export function scalingStep(view: View): Step {
  const { deployment, sizes, limits } = view;
  return planScaling(sizes, {
    ...growthOf(view),
    limits,
    strategy: deployment.spec.strategy?.type,
    statusReplicas: deployment.status?.replicas ?? 0,
    paused: deployment.spec.paused === true,
  });
}

export function createStep(view: View, size = initialReplicas(view)): Step {
  const { deployment, limits, nextRevision } = view;
  const create = newSet(deployment, { replicas: size, revision: nextRevision, limits });
  const name = create.metadata.name ?? '';
  return {
    create,
    condition: {
      type: MachineDeploymentConditions.Progressing,
      status: 'True',
      reason: ConditionReasons.NewMachineSetCreated,
      message: `Created new machine set "${name}"`,
    },
    events: size > 0 ? [scaledEvent(name, 0, size)] : [],
    because: `the template has no set yet: creating ${name} with ${counted(size, 'replica')}`,
  };
}

export const growthOf = ({ replicas, gate, good }: Pick<View, 'replicas' | 'gate' | 'good'>): GrowthRule => ({
  replicas,
  ceiling: gate?.ceiling,
  good,
});

export const shareOf = ({ repairs }: View): { readonly free: number; readonly repairsFirst: boolean } => ({
  free: repairs.budget.free,
  repairsFirst: hasFailures(repairs),
});

function initialReplicas(view: View): number {
  const { deployment, sizes, limits, replicas } = view;
  return deployment.spec.strategy?.type === 'RollingUpdate'
    ? currentReplicas(sizes, { ...limits, ...growthOf(view) })
    : replicas;
}

export function rollingStep(view: View): Step {
  const { sizes, limits } = view;
  const { current } = sizes;
  if (!current) return createStep(view);
  const target = { ...limits, ...growthOf(view), ...shareOf(view) };
  return { ...planRollingUpdate({ ...sizes, current }, target), ...completion(view) };
}

export function completion(view: View): Partial<Step> {
  return view.complete ? { remove: historyOf(view) } : {};
}

export function recreateStep(view: View): Step {
  const step = planRecreate(view.sizes, view.replicas);
  if (step.kind === 'create') return createStep(view);
  return { ...step, ...completion(view) };
}

export function rollbackStep(view: View, revision: number): Step {
  // Before a rollback, mcm creates a set without machines for the current template, so that a user can return to it.
  if (!view.split.current && missingClass(view) === undefined) return createStep(view, 0);
  const rollback = planRollback(view.deployment, view.split, revision, {
    markLastGood: hasRolloutSettings(view.rolloutSettings),
  });
  const { target } = rollback;
  const wasOld = target?.metadata.annotations?.[Annotations.PreferNoSchedule] !== undefined;
  const untaint = target && wasOld ? [target] : [];
  return {
    rollback,
    nodes: { ...NO_MARKS, untaint },
    mark: new Map(untaint.map((set) => [set.metadata.name, null])),
    events: [rollback.event],
    measureProgress: false,
    because: rollback.event.message,
  };
}

export const historyOf = ({ controlled, split, deployment }: View): readonly MachineSet[] =>
  surplusHistory(split.old, controlled, deployment.spec.revisionHistoryLimit);
