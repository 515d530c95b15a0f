import { ConditionReasons, type MachineDeployment, MachineDeploymentConditions, machineDeployments } from '@mcm/api';
import { isComplete } from '@mcm/core';
import { isGone } from '@mcm/kube';
import { getDeployment } from '../cluster/deployment-reading.ts';
import { brief } from '../explain/brief.ts';
import type { Target } from './actions.ts';

/** The state of a rollout. */
export interface RolloutState {
  readonly kind: 'complete' | 'under way' | 'failed' | 'deleted';
  readonly text: string;
}

/** Conditions that exist only while something blocks the rollout. */
const BLOCKING: readonly string[] = [
  MachineDeploymentConditions.InvalidSpec,
  MachineDeploymentConditions.RolloutBlocked,
];

/** The first machine whose last operation failed, with its error. */
function failing({ failedMachines = [] }: NonNullable<MachineDeployment['status']>): string {
  const [first] = failedMachines.toSorted((a, b) => (a.name ?? '').localeCompare(b.name ?? ''));
  if (!first) return '';
  const more = failedMachines.length > 1 ? `, and ${failedMachines.length - 1} more failed` : '';
  return `; machine ${first.name}: ${brief(first.lastOperation?.description ?? '')}${more}`;
}

/** The state of a rollout from the status of its deployment, with the texts of `kubectl rollout status`. */
export function rolloutState(deployment: MachineDeployment): RolloutState {
  const { metadata, spec, status = {} } = deployment;
  const name = `machinedeployment ${metadata.name}`;
  const progressing = status.conditions?.find(({ type }) => type === MachineDeploymentConditions.Progressing);
  if (progressing?.reason === ConditionReasons.ProgressDeadlineExceeded) {
    return { kind: 'failed', text: `${name} exceeded its progress deadline: ${progressing.message ?? ''}`.trimEnd() };
  }
  if (isComplete(deployment, status)) return { kind: 'complete', text: `${name} successfully rolled out` };
  const paused = spec.paused ? ' (paused)' : '';
  const wait = (what: string, why = failing(status)): RolloutState => ({
    kind: 'under way',
    text: `Waiting for ${name} rollout to finish: ${what}${paused}${why}...`,
  });
  const blocked = status.conditions?.find(({ type, status: is }) => BLOCKING.includes(type) && is === 'True');
  const inPlace = spec.strategy?.type === 'InPlaceUpdate';
  const { replicas: wanted = 0 } = spec;
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (observedGeneration < (metadata.generation ?? 0)) return wait('the controller has not seen the change yet', '');
  if (blocked) return wait(`${blocked.message ?? blocked.type}`.replace(/\.$/, ''), '');
  if (updatedReplicas < wanted) {
    const done = inPlace ? 'machines have been updated or created' : 'new machines have been created';
    return wait(`${updatedReplicas} out of ${wanted} ${done}`);
  }
  const [old, surplus] = [replicas - updatedReplicas, updatedReplicas - wanted];
  if (old > 0)
    return wait(old === 1 ? '1 old machine is pending termination' : `${old} old machines are pending termination`);
  if (surplus > 0)
    return wait(
      surplus === 1
        ? '1 surplus machine is pending termination'
        : `${surplus} surplus machines are pending termination`,
    );
  return wait(`${availableReplicas} of ${updatedReplicas} updated machines are available`);
}

/**
 * Prints the state of the rollout and, with `follow`, every change until it is complete or has failed.
 * @returns true if it is complete, or, without `follow`, if it has not failed.
 */
export async function followStatus(
  target: Target,
  say: (state: RolloutState) => void,
  { follow, signal }: { readonly follow: boolean; readonly signal: AbortSignal },
): Promise<boolean> {
  let said = '';
  const tell = (deployment: MachineDeployment): RolloutState => {
    const state = rolloutState(deployment);
    if (state.text !== said) say(state);
    said = state.text;
    return state;
  };
  while (!signal.aborted) {
    const seen = await getDeployment(target.client, target.namespace, target.name, { signal });
    const state = tell(seen);
    if (!follow) return state.kind !== 'failed';
    if (state.kind !== 'under way') return state.kind === 'complete';
    const last = await nextEnd(target, seen.metadata.resourceVersion, tell, signal);
    if (last === 'deleted') say({ kind: 'deleted', text: `machinedeployment ${target.name} was deleted` });
    if (last !== 'unknown') return last === 'complete';
  }
  return false;
}

/** Watches until the rollout ends. Returns `unknown` if the watch ended, or if its version is too old. */
async function nextEnd(
  target: Target,
  resourceVersion: string,
  tell: (deployment: MachineDeployment) => RolloutState,
  signal: AbortSignal,
): Promise<'complete' | 'failed' | 'deleted' | 'unknown'> {
  const resource = target.client.resource<MachineDeployment>(machineDeployments, target.namespace);
  const fieldSelector = `metadata.name=${target.name}`;
  try {
    for await (const event of resource.watch({ fieldSelector, resourceVersion, signal })) {
      if (event.type === 'BOOKMARK') continue;
      if (event.type === 'DELETED') return 'deleted';
      const { kind } = tell(event.object);
      if (kind !== 'under way') return kind;
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return 'unknown';
}
