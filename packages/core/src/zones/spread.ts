import { Labels, type Machine, phaseOf } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isUnreachable } from '../disruption/unreachable.ts';
import { offeringOf, zoneOfferingOf } from '../driver/offerings/alternative.ts';
import { isAvailable, isFailed, isTerminating } from '../objects/machines.ts';
import type { Zone, ZoneSetting } from './setting.ts';

/** Number of machines of a zone that must be down before the zone is on standby. One machine can fail alone. */
const LEAST_DOWN = 2;

/** What decides about the zones of a deployment. */
export interface ZoneInput {
  readonly setting: ZoneSetting;
  readonly machines: readonly Machine[];
  readonly isLeaving?: ((machine: Machine) => boolean) | undefined;
  readonly nodeOf?: ((name: string) => Node | undefined) | undefined;
}

/** The machines of one zone. */
export interface ZoneState {
  readonly zone: Zone;
  readonly staying: readonly Machine[];
  readonly leaving: number;
  readonly evacuated: boolean;
  /**
   * True if the zone is lost: all its machines are down, or the deployment records it and no machine is Ready again.
   */
  readonly standby: boolean;
}

/**
 * Returns the zone of a machine: the zone for which it was created, else the zone of its alternative, else the zone of
 * its Node. Undefined if no zone of the deployment is known for it.
 */
export function zoneOfMachine({ setting: { zones }, nodeOf }: Pick<ZoneInput, 'setting' | 'nodeOf'>, machine: Machine) {
  const created = zoneOfferingOf(machine)?.zone ?? offeringOf(machine)?.zone;
  if (created !== undefined) return zones.find(({ name }) => name === created);
  const label = nodeOf?.(machine.metadata.labels?.[Labels.Node] ?? '')?.metadata.labels?.[Labels.Zone];
  return zones.find(({ name }) => name === label);
}

const isDown = (machine: Machine): boolean => isFailed(machine) || isUnreachable(machine);

/** Machines outside of all zones are not counted. */
export function zoneStates(input: ZoneInput): readonly ZoneState[] {
  const { setting, machines, isLeaving = () => false } = input;
  const byZone = new Map<Zone, { readonly staying: Machine[]; leaving: number }>(
    setting.zones.map((zone) => [zone, { staying: [], leaving: 0 }]),
  );
  for (const machine of machines) {
    const zone = zoneOfMachine(input, machine);
    const counts = zone && byZone.get(zone);
    if (!counts) continue;
    if (isTerminating(machine) || isLeaving(machine)) counts.leaving++;
    else counts.staying.push(machine);
  }
  return [...byZone].map(([zone, { staying, leaving }]) => ({
    zone,
    staying,
    leaving,
    evacuated: setting.evacuated.has(zone.name),
    standby: isLost(staying) || (setting.standby.has(zone.name) && !staying.some(isAvailable)),
  }));
}

/** A zone is lost if machines of the zone have joined and all of them are down. */
export const isLost = (staying: readonly Machine[]): boolean =>
  staying.filter(isDown).length >= LEAST_DOWN && !staying.some(isUp);

const JOINING: ReadonlySet<string | undefined> = new Set([undefined, 'Pending', 'CrashLoopBackOff']);

/** A machine that has joined and is not down shows that its zone works. */
const isUp = (machine: Machine): boolean => !isDown(machine) && !JOINING.has(phaseOf(machine));

/**
 * Returns the zones that get new machines. If no zone is left, the zones on standby get them too, because the
 * deployment needs its machines.
 */
export function openZones(states: readonly ZoneState[]): readonly ZoneState[] {
  const usable = states.filter(({ evacuated }) => !evacuated);
  const open = usable.filter(({ standby }) => !standby);
  return open.length > 0 ? open : usable;
}

/**
 * Each new machine gets the zone with the fewest machines. Among equal zones, the zone that is losing the most
 * machines comes first, so a replacement stays in the zone of its former machine. The last criterion is the order of
 * the list.
 */
export function placesFor(states: readonly ZoneState[], count: number): readonly Zone[] {
  const open = openZones(states).map(({ zone, staying, leaving }) => ({ zone, machines: staying.length, leaving }));
  const places: Zone[] = [];
  while (places.length < count) {
    const best = open.reduce((a, b) =>
      b.machines < a.machines || (b.machines === a.machines && b.leaving > a.leaving) ? b : a,
    );
    best.machines++;
    best.leaving = Math.max(best.leaving - 1, 0);
    places.push(best.zone);
  }
  return places;
}

/** The deletion rank of a machine by its zone. A set deletes machines with a higher rank first. */
export interface ZoneRank {
  readonly moves: boolean;
  /** Number of machines that the zone has while this one is still there. */
  readonly level: number;
}

/** The size of a set after the deletions, and the replicas of its deployment. */
export interface SetNeed {
  readonly replicas: number;
  readonly wanted: number;
}

/**
 * Ranks the machines of a set for deletion. If the set deletes machines in the order of their levels, the zones stay
 * balanced.
 * @param ordered The machines of the set, in the order of deletion without zones.
 * @param size The size of the set, and the replicas of its deployment. A set may be larger during a move.
 * @returns Ranks by UID. Machines outside of all zones have none.
 */
export function zoneRanks(
  input: ZoneInput,
  states: readonly ZoneState[],
  ordered: readonly Machine[],
  size: SetNeed,
): ReadonlyMap<string, ZoneRank> {
  const left = new Map(states.map(({ zone, staying }) => [zone, staying.length]));
  const evacuated = new Set(states.filter((state) => state.evacuated).map(({ zone }) => zone));
  const isMoving = (machine: Machine): boolean => {
    const zone = zoneOfMachine(input, machine);
    return zone !== undefined && evacuated.has(zone);
  };
  const moves = evacuated.size > 0 && maySpare(ordered, size, isMoving);
  const ranks = new Map<string, ZoneRank>();
  for (const machine of ordered) {
    const zone = zoneOfMachine(input, machine);
    if (!zone) continue;
    const level = left.get(zone) ?? 0;
    left.set(zone, level - 1);
    ranks.set(machine.metadata.uid, { moves: moves && evacuated.has(zone), level });
  }
  return ranks;
}

/**
 * Returns true if the set may delete machines of evacuated zones before machines that are down. Otherwise a scale-down
 * would delete available machines although others are down.
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
