import { Annotations, type Machine } from '@mcm/api';
import { waitsForCapacity } from '../rollout/less-surge.ts';
import { openZones, type ZoneState } from './spread.ts';

/**
 * Returns true if the cloud refused all offerings of the machine. A machine with a recorded offering still waits for
 * the response to a call.
 */
export const isStuck = (machine: Machine): boolean =>
  waitsForCapacity(machine) && machine.metadata.annotations?.[Annotations.CapacityOffering] === undefined;

/** Returns the machines without a VM in zones without capacity. If another zone is open, these machines move there. */
export function stuckMachines(states: readonly ZoneState[], mine: readonly Machine[]): readonly Machine[] {
  const open = openZones(states);
  const short = states.filter((state) => state.short && !state.evacuated && !open.includes(state));
  const stuck = new Set(short.flatMap(({ staying }) => staying.filter(isStuck)));
  return mine.filter((machine) => stuck.has(machine));
}
