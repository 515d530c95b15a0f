import type { Machine } from '@mcm/api';
import type { Zone } from './setting.ts';
import { openZones, type ZoneState } from './spread.ts';

export interface PlaceRequest {
  readonly count: number;
  readonly wanted: number;
  /** Returns true if a rollout will replace the machine. */
  readonly isOld?: ((machine: Machine) => boolean) | undefined;
  readonly lost?: readonly string[] | undefined;
  readonly before?: ReadonlyMap<string, number> | undefined;
}

export interface Place {
  readonly zone: Zone;
  readonly because: string;
}

interface Slot {
  readonly zone: Zone;
  /** The number of machines in the zone when all zones are balanced. */
  readonly share: number;
  all: number;
  fresh: number;
  leaving: number;
}

/**
 * Divides the machines equally among the open zones. Machines in deletion count, so that a replacement stays in the
 * zone of its former machine. Machines in lost zones stay, so mcm subtracts these machines from the number to divide.
 */
function slotsOf(states: readonly ZoneState[], { wanted, isOld = () => false, before }: PlaceRequest): readonly Slot[] {
  const open = openZones(states);
  const kept = states.filter((state) => !state.evacuated && !open.includes(state));
  const rest = Math.max(wanted - kept.reduce((sum, { staying }) => sum + staying.length, 0), 0);
  const has = ({ staying, leaving }: ZoneState): number => staying.length + leaving;
  const had = ({ zone }: ZoneState): number => before?.get(zone.name) ?? 0;
  const fullest = open.toSorted((a, b) => has(b) - has(a) || had(b) - had(a)).slice(0, rest % open.length);
  return open.map((state) => ({
    zone: state.zone,
    share: Math.floor(rest / open.length) + (fullest.includes(state) ? 1 : 0),
    all: state.staying.length,
    fresh: state.staying.filter((machine) => !isOld(machine)).length,
    leaving: state.leaving,
  }));
}

/**
 * Chooses the zones of new machines.
 *
 * 1. If the zone of a lost machine is open and needs machines, the replacement stays in this zone.
 * 2. Any other machine gets the zone that lacks the most machines. During a rollout, old machines do not count, because
 *    the rollout replaces each old machine in its zone.
 * 3. Among zones that lack equally many machines, the zone with the fewest machines comes first.
 */
export function placesFor(states: readonly ZoneState[], request: PlaceRequest): readonly Place[] {
  const slots = slotsOf(states, request);
  const most = Math.max(...slots.map(({ share }) => share));
  const homes = [...(request.lost ?? [])];
  const closed = closedText(states);
  const places: Place[] = [];
  while (places.length < request.count) {
    const home = homes.map((name) => slots.find(({ zone, all }) => zone.name === name && all < most)).find(Boolean);
    const slot = home ?? slots.reduce((a, b) => (isBetter(b, a) ? b : a));
    if (home) homes.splice(homes.indexOf(home.zone.name), 1);
    const why = home
      ? 'the new machine replaces a machine of this zone'
      : `the zone has ${slot.fresh} of ${slot.share} ${request.isOld ? 'new machines' : 'machines'}`;
    places.push({ zone: slot.zone, because: closed === '' ? why : `${why}; ${closed}` });
    slot.all++;
    slot.fresh++;
    slot.leaving = Math.max(slot.leaving - 1, 0);
  }
  return places;
}

function isBetter(a: Slot, b: Slot): boolean {
  const order = a.fresh - a.share - (b.fresh - b.share) || a.all - b.all || b.leaving - a.leaving;
  return order < 0;
}

const closure = ({ evacuated, standby }: ZoneState): string =>
  evacuated ? 'is evacuated' : standby ? 'is on standby' : 'has no capacity';

function closedText(states: readonly ZoneState[]): string {
  const open = openZones(states);
  const closed = states.filter((state) => !open.includes(state));
  return closed.map((state) => `zone ${state.zone.name} ${closure(state)}`).join('; ');
}
