import { DEFAULT_MACHINE_PRIORITY, Labels, type Machine } from '@mcm/api';
import { hasFailures } from '../../disruption/repairs.ts';
import { isAvailable, isPreserved, isTerminating, priorityOf } from '../../objects/machines.ts';
import { postponementOf } from '../../rollout/postponement.ts';
import { chooseForDeletion, deletionOrder } from '../../set/replicas/deletion-order.ts';
import { zoneRanks } from '../../zones/ranks.ts';
import { zoneSettingOf } from '../../zones/setting.ts';
import { isJoining, openZones, type ZoneInput, type ZoneState, zoneOfMachine, zoneStates } from '../../zones/spread.ts';
import { maximumMachines, type SetSize } from '../state/size.ts';
import type { Step } from '../state/step.ts';
import type { View } from '../state/view.ts';

export function zonesOf({ deployment, sets, machines, disruptions, nodeOf }: View): ZoneInput | undefined {
  const setting = zoneSettingOf(deployment);
  if (setting === undefined) return undefined;
  const all = sets.flatMap(({ metadata }) => machines.get(metadata.uid) ?? []);
  return { setting, machines: all, isLeaving: disruptions?.isLeaving, nodeOf };
}

interface Standing {
  readonly current: SetSize;
  readonly staying: readonly Machine[];
  readonly movers: readonly Machine[];
  /** A machine that may move out of the zone with the most machines, or undefined if no machine may move. */
  readonly surplus: Machine | undefined;
  /**
   * The number of machines that have no VM, because their zone has no capacity. The set deletes these machines before
   * all other machines.
   */
  readonly stuck: number;
  /** Whether the set may return to its replicas, because its additional machines serve no move. */
  readonly returns: boolean;
}

/**
 * Moves machines out of evacuated zones, and from the zone with the most machines to the zone with the fewest. With a
 * surge, a set first creates machines in other zones. Without a surge, a set first deletes at most `maxUnavailable`
 * machines.
 * @returns undefined if no machine moves, so the rollout determines the next step
 */
export function zoneStep(view: View): Step | undefined {
  const { sizes, replicas, limits, deployment } = view;
  const { current } = sizes;
  const input = zonesOf(view);
  if (!input || !current || deployment.spec.strategy?.type !== 'RollingUpdate') return undefined;
  if (sizes.old.some((size) => maximumMachines(size) > 0)) return undefined;
  const over = current.replicas - replicas;
  if (replicas === 0 || over < 0 || over > limits.surge) return undefined;
  const standing = standingOf(view, input, current);
  const wanted = standing.movers.length + (standing.surplus ? 1 : 0);
  if (standing.stuck > 0) return unstuck(current, standing);
  if (wanted === 0 && over === 0) return undefined;
  if (wanted === 0 && standing.returns) return returned(current, replicas);
  const size = limits.surge > 0 ? withSurge(view, standing, wanted) : withoutSurge(view, standing, wanted);
  const { evacuated } = input.setting;
  const why =
    standing.movers.length > 0
      ? `zone ${[...evacuated].join(', ')} is evacuated`
      : 'the zones have unequal numbers of machines';
  const because =
    size > current.replicas
      ? `${why}: creating machines in other zones first`
      : size < current.replicas
        ? `${why}: deleting machines, because replacements in other zones are available`
        : `waiting: ${why}, and the new machines in other zones are not available yet`;
  return { resize: new Map([[current.name, size]]), measureProgress: false, because };
}

const unstuck = ({ name, replicas }: SetSize, { staying, stuck }: Standing): Step => ({
  // If the set has not created all its machines, a smaller size would delete available machines.
  resize: new Map([[name, staying.length === replicas ? replicas - stuck : replicas]]),
  measureProgress: false,
  because: 'a zone has no capacity: deleting machines without a VM, and then creating machines in other zones',
});

const returned = ({ name }: SetSize, replicas: number): Step => ({
  resize: new Map([[name, replicas]]),
  measureProgress: false,
  because: 'no machine has to move: deleting additional machines that have not joined',
});

function standingOf(view: View, input: ZoneInput, current: SetSize): Standing {
  const { split, machines, disruptions, nodeOf, now } = view;
  const states = zoneStates(input);
  const mine = machines.get(split.current?.metadata.uid ?? '') ?? [];
  const staying = mine.filter((machine) => !isTerminating(machine) && disruptions?.isLeaving(machine) !== true);
  const isPostponed = ({ metadata }: Machine) =>
    postponementOf(nodeOf?.(metadata.labels?.[Labels.Node] ?? ''), now) !== undefined;
  // A machine may move only if the set deletes it before other machines. Otherwise, the move would never end.
  const mayMove = (machine: Machine) =>
    !isPreserved(machine, now) && !isPostponed(machine) && priorityOf(machine) <= DEFAULT_MACHINE_PRIORITY;
  const evacuated = new Set(states.filter((state) => state.evacuated).map(({ zone }) => zone));
  const movers = staying.filter((machine) => {
    const zone = zoneOfMachine(input, machine);
    return zone !== undefined && evacuated.has(zone) && mayMove(machine);
  });
  const whole =
    current.replicas === view.replicas && staying.length === view.replicas && mine.length === staying.length;
  const rests = movers.length === 0 && whole && staying.every(isAvailable);
  const ordered = staying.toSorted(deletionOrder(now, isPostponed));
  const ranks = zoneRanks(input, states, ordered, { replicas: view.replicas - 1, wanted: view.replicas });
  const [first] = rests ? chooseForDeletion(staying, 1, now, isPostponed, ranks) : [];
  const isStuck = (machine: Machine) => mayMove(machine) && ranks.get(machine.metadata.uid)?.stuck === true;
  // A smaller set would first delete all machines with a lower priority, although these machines may be available.
  const firstKept = staying.toSorted(deletionOrder(now, isPostponed, ranks)).findIndex((one) => !isStuck(one));
  const stuck = firstKept < 0 ? staying.length : firstKept;
  const moves = first && mayMove(first) && !hasFailures(view.repairs) && isOverfull(input, states, first);
  const going = chooseForDeletion(staying, staying.length - view.replicas, now, isPostponed, ranks);
  const returns =
    staying.length === current.replicas &&
    states.every((state) => !state.evacuated || state.staying.length === 0) &&
    !states.some((state) => isAwaited(states, state)) &&
    going.every(isJoining);
  return { current, staying, movers, surplus: moves ? first : undefined, stuck, returns };
}

/** Returns true if a machine that is not available yet will balance the zones. */
function isAwaited(states: readonly ZoneState[], state: ZoneState): boolean {
  const open = openZones(states);
  const available = ({ staying }: ZoneState): number => staying.filter(isAvailable).length;
  const most = Math.max(...open.map(available));
  return open.includes(state) && !state.staying.every(isAvailable) && most - available(state) >= 2;
}

/** A zone is too full if it has at least two machines more than another zone. */
function isOverfull(input: ZoneInput, states: readonly ZoneState[], machine: Machine): boolean {
  const open = openZones(states);
  const zone = zoneOfMachine(input, machine);
  const mine = open.find((state) => state.zone === zone)?.staying.length ?? 0;
  return mine - Math.min(...open.map(({ staying }) => staying.length)) >= 2;
}

/** The set first creates new machines in other zones, and shrinks by one for each available new machine. */
function withSurge({ replicas, limits }: View, { current, staying, movers }: Standing, wanted: number): number {
  const kept = staying.filter((machine) => !movers.includes(machine)).filter(isAvailable).length;
  const arrived = kept - (replicas - movers.length);
  const over = current.replicas - replicas;
  if (over > 0 && arrived > 0) return current.replicas - Math.min(arrived, over);
  const room = replicas + limits.surge - maximumMachines(current);
  const goal = replicas + Math.min(limits.surge, wanted);
  return current.replicas + Math.max(Math.min(goal - current.replicas, room), 0);
}

/**
 * The set first shrinks by the number of machines that may be unavailable now. The rollout then creates machines in
 * other zones.
 */
function withoutSurge(
  { replicas, limits, repairs }: View,
  { current, staying, movers }: Standing,
  wanted: number,
): number {
  const kept = staying.filter((machine) => !movers.includes(machine)).filter(isAvailable).length;
  const missing = replicas - movers.length - kept;
  if (maximumMachines(current) > replicas || staying.length < replicas) return current.replicas;
  if (missing > 0) return current.replicas;
  const most = Math.min(wanted, limits.unavailable, repairs.budget.free, Math.max(replicas - 1, 1));
  return current.replicas - Math.max(most, 0);
}
