import type { Machine } from '@mcm/api';
import { resolveIntOrPercent } from '../objects/limits.ts';
import { isAvailable, isTerminating } from '../objects/machines.ts';
import { placesFor } from './places.ts';
import type { Zone } from './setting.ts';
import { type ZoneInput, type ZoneState, zoneOfMachine, zoneStates } from './spread.ts';
import { stuckMachines } from './stuck.ts';

/** The rank of a machine for deletion, which depends on the state of its zone. */
export interface ZoneRank {
  /** Whether the machine has no VM, because its zone has no capacity and another zone is open. */
  readonly stuck: boolean;
  readonly moves: boolean;
  readonly level: number;
  /** Whether the rollout must not delete the machine yet, because too many machines of its zone are missing. */
  readonly waits?: true;
}

export interface SetNeed {
  readonly replicas: number;
  readonly wanted: number;
}

/**
 * Returns the ranks of a set's machines for deletion. If a set deletes machines in the order of `level`, the zones stay
 * balanced.
 * @param ordered the machines of the set, in the order in which a set without zones deletes them.
 * @param size the size of the set, which may exceed the replicas of its deployment during an evacuation.
 * @returns the ranks by UID, except for machines outside of all zones
 */
export function zoneRanks(
  input: ZoneInput,
  states: readonly ZoneState[],
  ordered: readonly Machine[],
  size: SetNeed,
): ReadonlyMap<string, ZoneRank> {
  const levels = new Map(states.map(({ zone, staying }) => [zone, staying.length]));
  const evacuated = new Set(states.filter((state) => state.evacuated).map(({ zone }) => zone));
  const isMoving = (machine: Machine): boolean => {
    const zone = zoneOfMachine(input, machine);
    return zone !== undefined && evacuated.has(zone);
  };
  const moves = evacuated.size > 0 && maySpare(ordered, size, isMoving);
  const stuck = new Set(stuckMachines(states, ordered));
  const ranks = new Map<string, ZoneRank>();
  const rooms = zoneRooms(input, states, size.wanted);
  const left = new Map([...rooms].map(([zone, { missing, limit }]) => [zone, limit - missing]));
  for (const machine of ordered) {
    const zone = zoneOfMachine(input, machine);
    if (!zone) continue;
    const level = levels.get(zone) ?? 0;
    levels.set(zone, level - 1);
    const rank = { stuck: stuck.has(machine), moves: moves && evacuated.has(zone), level };
    const room = left.get(zone);
    const isLimited = room !== undefined && isAvailable(machine) && input.isOld?.(machine) === true;
    if (isLimited) left.set(zone, room - 1);
    ranks.set(machine.metadata.uid, isLimited && room <= 0 ? { ...rank, waits: true } : rank);
  }
  return ranks;
}

export interface ZoneRoom {
  readonly missing: number;
  readonly limit: number;
}

/** Returns the limits of a rollout for each zone, except for evacuated zones. */
export function zoneRooms(input: ZoneInput, states: readonly ZoneState[], wanted: number): ReadonlyMap<Zone, ZoneRoom> {
  const { setting, machines, isLeaving = () => false, isOld } = input;
  const { maxUnavailable } = setting;
  if (maxUnavailable === undefined || !isOld) return new Map();
  const staying = machines.filter((machine) => !isTerminating(machine) && !isLeaving(machine)).length;
  const places = placesFor(states, { count: Math.max(wanted - staying, 0), wanted, isOld });
  const limited = states.filter(({ evacuated }) => !evacuated);
  return new Map(
    limited.map((state) => {
      const { zone } = state;
      const open = Math.max(state.leaving, places.filter((place) => place.zone === zone).length);
      const down = state.staying.filter((machine) => !isAvailable(machine)).length;
      // A percentage of a small zone may be 0 and would then stop the rollout, so the limit is at least 1.
      const limit = Math.max(resolveIntOrPercent(maxUnavailable, state.staying.length + open, 'down') ?? 1, 1);
      return [zone, { missing: down + open, limit }];
    }),
  );
}

/**
 * Returns true if the set may delete machines of evacuated zones before machines that are down. Without this check, a
 * scale-down would delete available machines although other machines are down.
 */
function maySpare(
  machines: readonly Machine[],
  { replicas, wanted }: SetNeed,
  isMoving: (machine: Machine) => boolean,
): boolean {
  const moving = machines.filter(isMoving).length;
  const kept = machines.filter((machine) => !isMoving(machine) && isAvailable(machine)).length;
  const surplus = machines.length - replicas;
  return kept >= Math.min(replicas, wanted) - Math.max(moving - surplus, 0);
}

/**
 * Returns a function that reserves an in-place update of a machine in its zone, if the zone allows it. A busy machine
 * already counts as missing, so its update needs no reservation.
 * @param isBusy returns true if the machine is not available, or its update has started.
 * @returns undefined if the deployment has no limit for each zone
 */
export function zonePlaces(
  input: ZoneInput,
  isBusy: (machine: Machine) => boolean,
): ((machine: Machine) => boolean) | undefined {
  const { maxUnavailable } = input.setting;
  if (maxUnavailable === undefined) return undefined;
  const left = new Map(
    zoneStates(input).map(({ zone, staying, leaving }) => {
      const limit = Math.max(resolveIntOrPercent(maxUnavailable, staying.length + leaving, 'down') ?? 1, 1);
      return [zone, limit - leaving - staying.filter(isBusy).length];
    }),
  );
  return (machine) => {
    const zone = zoneOfMachine(input, machine);
    const room = zone && left.get(zone);
    if (zone === undefined || room === undefined || isBusy(machine)) return true;
    if (room <= 0) return false;
    left.set(zone, room - 1);
    return true;
  };
}
