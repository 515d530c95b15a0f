import { conditionsOf, operationOf, phaseOf } from '../recordings/fields.ts';
import type { Recorded, State } from '../recordings/recording.ts';

export const machinesOf = (state: State): readonly Recorded[] =>
  [...state.objects.values()].filter(({ kind }) => kind === 'Machine');

/** Returns true if nothing happens in a state: no machine is in deletion, and every node is Ready. */
export const isAtRest = (state: State): boolean =>
  machinesOf(state).every(
    (machine) =>
      machine.metadata.deletionTimestamp === undefined &&
      conditionsOf(machine).some(({ status, type }) => type === 'Ready' && status === 'True'),
  );

const QUIET_S = 20;

const ARRIVED = new Set(['NewMachineSetAvailable', 'DeploymentPaused']);

/** Returns true if the controllers waited for the next action of the user. */
export function isSettled(end: State, nextAt: number): boolean {
  if (nextAt - end.at >= QUIET_S) return true;
  const phases = machinesOf(end).map(phaseOf);
  const awaitsAgent = phases.includes('InPlaceUpdating') && !phases.includes('InPlaceUpdateSuccessful');
  const hasArrived = [...end.objects.values()]
    .filter(({ kind }) => kind === 'MachineDeployment')
    .every((deployment) => ARRIVED.has(reasonOf(deployment, 'Progressing') ?? ''));
  return isAtRest(end) && (awaitsAgent || hasArrived);
}

const reasonOf = (object: Recorded, type: string): string | undefined =>
  conditionsOf(object).find((condition) => condition.type === type)?.reason;

/** Returns the states of a history up to the last action that the controllers completed. */
export function complete(states: readonly State[]): readonly State[] {
  const last = states.at(-1);
  const before = states.at(-2);
  return last && before && before.after !== last.after && !isAtRest(last) ? states.slice(0, -1) : states;
}

export function lastLeaving(end: State): readonly Recorded[] | undefined {
  const leaving = machinesOf(end).filter(
    (machine) => machine.metadata.deletionTimestamp !== undefined && operationOf(machine)?.state === 'Processing',
  );
  return leaving.length > 0 && isAtRest({ ...end, objects: without(end, leaving) }) ? leaving : undefined;
}

export function without({ objects }: State, machines: readonly Recorded[]): State['objects'] {
  const gone = new Set(machines.flatMap(({ metadata: { name, labels } }) => [name, labels?.node ?? name]));
  return new Map([...objects].filter(([key]) => !gone.has(key.replace(/^(Machine|Node)\//, ''))));
}
