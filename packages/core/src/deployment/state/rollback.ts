import {
  ANNOTATIONS_NOT_COPIED,
  Annotations,
  type EventReason,
  EventReasons,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import type { Sets } from '../../rollout/revisions.ts';
import { hadMachines, previousRevision, revisionOf } from '../../rollout/revisions.ts';
import { sameTemplate, withoutHashLabel } from '../../rollout/template-hash.ts';

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** A planned rollback. The deployment to write, without the rollback request. */
export interface Rollback {
  readonly deployment: MachineDeployment;
  /** The set of the restored revision. The nodes of this set lose the taint PreferNoSchedule. */
  readonly target: MachineSet | undefined;
  readonly event: PlannedEvent;
}

function withoutRequest(deployment: MachineDeployment): MachineDeployment {
  const { rollbackTo: _request, ...spec } = deployment.spec;
  return { ...deployment, spec };
}

/**
 * The deployment keeps only the annotations that the controller maintains; all others come from the restored revision.
 */
function restoredAnnotations(deployment: MachineDeployment, set: MachineSet): Record<string, string> {
  const kept = Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => ANNOTATIONS_NOT_COPIED.has(key));
  const restored = Object.entries(set.metadata.annotations ?? {}).filter(([key]) => !ANNOTATIONS_NOT_COPIED.has(key));
  return Object.fromEntries([...kept, ...restored]);
}

function noRevision(to: number, sets: readonly MachineSet[]): string {
  const there = sets.map((set) => revisionOf(set) ?? 0).filter((revision) => revision > 0);
  const choice =
    there.length > 0
      ? `existing revisions: ${there.sort((a, b) => a - b).join(', ')}`
      : 'the deployment has no revision';
  return to === 0
    ? 'the deployment has no revision before the current revision'
    : `revision ${to} does not exist; ${choice}`;
}

/**
 * Plans the rollback that `spec.rollbackTo` requests (docs/compatibility/rules-deployments.md §1.9).
 *
 * The rollback removes the recorded reason of a pause, because the reason belongs to the abandoned template. With
 * `markLastGood`, the target becomes the last good set if it ever had a machine. No canary then delays the rollback.
 * @param to the target revision, or 0 for the revision before the current revision
 */
export function planRollback(
  deployment: MachineDeployment,
  { current, old }: Sets,
  to: number,
  { markLastGood = false }: { readonly markLastGood?: boolean } = {},
): Rollback {
  const all = current ? [...old, current] : [...old];
  const revision = to === 0 ? previousRevision({ current, old }) : to;
  const target = revision > 0 ? all.find((set) => revisionOf(set) === revision) : undefined;
  const cleared = withoutRequest(deployment);
  if (target === undefined) {
    const message = `spec.rollbackTo.revision: ${noRevision(to, all)}; spec.rollbackTo was cleared.`;
    return {
      deployment: cleared,
      target,
      event: { type: 'Warning', reason: EventReasons.RollbackRevisionNotFound, message },
    };
  }
  if (sameTemplate(target.spec.template, deployment.spec.template)) {
    const message = `The template of revision ${revision} is already the template of the deployment; spec.rollbackTo was cleared.`;
    return {
      deployment: cleared,
      target,
      event: { type: 'Warning', reason: EventReasons.RollbackTemplateUnchanged, message },
    };
  }
  const { [Annotations.RolloutPausedBy]: _pausedBy, ...annotations } = restoredAnnotations(deployment, target);
  const good = hadMachines(target) ? { [Annotations.RolloutLastGood]: target.metadata.name } : {};
  const restored: MachineDeployment = {
    ...cleared,
    metadata: { ...cleared.metadata, annotations: { ...annotations, ...(markLastGood ? good : {}) } },
    spec: { ...cleared.spec, template: withoutHashLabel(target.spec.template) },
  };
  const message = `Rolled back deployment "${deployment.metadata.name}" to revision ${revision}`;
  return { deployment: restored, target, event: { type: 'Normal', reason: EventReasons.Rollback, message } };
}
