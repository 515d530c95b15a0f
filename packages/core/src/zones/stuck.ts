import { Annotations, type Machine } from '@mcm/api';
import { waitsForCapacity } from '../rollout/less-surge.ts';
import { openZones, type ZoneState } from './spread.ts';

/** A machine with a recorded offering still waits for the result of a `create` call. */
export const isStuck = (machine: Machine): boolean =>
  waitsForCapacity(machine) && machine.metadata.annotations?.[Annotations.CapacityOffering] === undefined;

/** Machines without a VM move to another zone if another zone is open. */
export function stuckMachines(states: readonly ZoneState[], mine: readonly Machine[]): readonly Machine[] {
  const open = openZones(states);
  const short = states.filter((state) => state.short && !state.evacuated && !open.includes(state));
  const stuck = new Set(short.flatMap(({ staying }) => staying.filter(isStuck)));
  return mine.filter((machine) => stuck.has(machine));
}
