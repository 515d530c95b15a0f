import { formatTime, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import { isComplete, zoneSettingOf } from '@mcm/core';
import type { DeploymentRow, RolloutState } from '@mcm/dashboard';
import { type ControllerHealth, doesAct } from '../../controllers/health.ts';
import { isIntendedWait, problemsOf } from '../../explain/reasons/conditions.ts';
import { BLOCKED_LIMIT_MS } from './machine-row.ts';
import { brieflyVisible, millisOf } from './text.ts';

export interface AssessedDeployment {
  readonly row: DeploymentRow;
  readonly base: RolloutState;
  readonly risesAt: number | undefined;
}

function stateOf({ metadata, spec, status }: MachineDeployment, blocked: boolean, waits: boolean): RolloutState {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  if (blocked) return 'blocked';
  if (isComplete({ metadata, spec } as MachineDeployment, status)) return 'complete';
  if (spec.paused === true) return 'paused';
  if (waits) return 'waiting';
  const { replicas = 0, updatedReplicas = 0 } = status ?? {};
  return updatedReplicas < replicas ? 'rolling' : 'scaling';
}

const MANAGER = 'machine-controller-manager';
const MACHINE_CONTROLLER = 'machine-controller';
const NEEDING: readonly RolloutState[] = ['rolling', 'scaling', 'deleting'];

function standstillOf(state: RolloutState, controllers: readonly ControllerHealth[], name: string): string {
  const needsBoth = NEEDING.includes(state);
  // During an intended wait, such as the soak time of a canary, a deployment needs only the manager, and not the
  // machine controller.
  if ((needsBoth || state === 'waiting') && !doesAct(controllers, MANAGER, name))
    return `${MANAGER} is not working on the deployment`;
  if (needsBoth && !doesAct(controllers, MACHINE_CONTROLLER))
    return `${MACHINE_CONTROLLER} is not working, so no VM is created or deleted`;
  return '';
}

/**
 * Returns the row of a deployment, from its status and the health of its manager.
 * @param controllers the controllers in the namespace of the deployment
 */
export function deploymentRow(
  deployment: MachineDeployment,
  now: number,
  before: AssessedDeployment | undefined,
  controllers: readonly ControllerHealth[],
): AssessedDeployment {
  const { metadata, spec, status } = deployment;
  const reported = problemsOf(deployment).filter(({ type }) => type !== MachineDeploymentConditions.Available);
  const wait = reported.find(isIntendedWait);
  const problem = reported.find((condition) => condition !== wait);
  const own = stateOf(deployment, problem !== undefined, wait !== undefined);
  const standstill = standstillOf(own, controllers, metadata.name);
  const base = standstill === '' ? own : 'blocked';
  const began = before === undefined ? (millisOf((problem ?? wait)?.lastTransitionTime) ?? now) : now;
  const since = before?.base === base ? before.row.since : began;
  const failsAt = base === 'blocked' ? since + BLOCKED_LIMIT_MS : undefined;
  const failed = failsAt !== undefined && now >= failsAt;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status ?? {};
  const row: DeploymentRow = {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    ns: metadata.namespace ?? '',
    name: metadata.name,
    cls: brieflyVisible(spec.template?.spec?.class?.name ?? ''),
    desired: spec.replicas ?? 0,
    total: replicas,
    updated: updatedReplicas,
    available: availableReplicas,
    old: Math.max(0, replicas - updatedReplicas),
    state: failed ? 'failed' : base,
    why: brieflyVisible(standstill || textOf(problem ?? wait)),
    closedZones: brieflyVisible(closedZonesOf(deployment)),
    since,
  };
  return { row, base, risesAt: failed ? undefined : failsAt };
}

function closedZonesOf(deployment: MachineDeployment): string {
  const setting = zoneSettingOf(deployment);
  return (setting?.zones ?? [])
    .flatMap(({ name }) => {
      const since = setting?.standby.get(name);
      if (setting?.evacuated.has(name)) return [`Zone ${name} is evacuated.`];
      const short = setting?.short.get(name);
      if (since === undefined && short !== undefined)
        return [`Zone ${name} has no capacity since ${formatTime(new Date(short))}.`];
      return since === undefined ? [] : [`Zone ${name} is on standby since ${formatTime(new Date(since))}.`];
    })
    .join(' ');
}

const textOf = (problem: ReturnType<typeof problemsOf>[number] | undefined): string =>
  problem === undefined ? '' : (problem.message ?? problem.reason ?? problem.type);
