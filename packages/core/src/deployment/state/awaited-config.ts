import { Annotations, type Machine, type MachineDeployment } from '@mcm/api';
import { isAvailable, isUnconfigured } from '../../objects/machines.ts';

/** A Running machine that waits for the configuration of its pool does not count as available. */
export const awaitsConfig = (deployment: MachineDeployment, machine: Machine): boolean =>
  deployment.metadata.annotations?.[Annotations.ConfigAwaitedByPool] !== undefined &&
  isUnconfigured(machine) &&
  isAvailable(machine);

const MOST_NAMES = 3;

export function whyAwaited(deployment: MachineDeployment, machines: readonly Machine[]): string {
  const names = machines.map(({ metadata }) => metadata.name).toSorted();
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const pool = deployment.metadata.annotations?.[Annotations.ConfigAwaitedByPool] ?? '';
  return `waiting: ${names.slice(0, MOST_NAMES).join(', ')}${more} must apply the configuration of MachineConfigPool ${pool} first`;
}
