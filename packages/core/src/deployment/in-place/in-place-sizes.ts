import { Labels } from '@mcm/api';
import { rolloutRoom } from '../../disruption/budget.ts';
import { isAvailable, isBeingHandedOver, isTerminating } from '../../objects/machines.ts';
import { grown } from '../state/growth.ts';
import {
  type InPlaceSnapshot,
  isSelected,
  replicasOf,
  replicasOfAll,
  type SetWithMachines,
} from '../state/in-place-snapshot.ts';
import { type Resize, type SetSize, sizeOf } from '../state/size.ts';

/** Returns the number of machines that moved to the set, but that its `spec.replicas` does not include yet. */
function movedIn(one: SetWithMachines): number {
  const alive = one.machines.filter((machine) => !isTerminating(machine));
  return Math.max(Math.min(alive.filter(isBeingHandedOver).length, alive.length - replicasOf(one)), 0);
}

/**
 * Adds moved machines to the size of the set that received them, even if the template of the deployment has changed
 * since the moves.
 * - If the moved machines exceed the maximum number of machines, the set deletes machines of another template.
 */
export function sizesOfMoved(o: Bounds): Map<string, number> {
  const { current, old } = o;
  const away = old.reduce((total, one) => total + movedIn(one), 0);
  const resize = shrunk([current], Math.min(away, vacated(current)));
  let came = movedIn(current);
  for (const one of old.filter(mayNotRefill)) {
    const left = Math.min(came, vacated(one));
    if (left > 0) resize.set(one.set.metadata.name, replicasOf(one) - left);
    came -= Math.max(left, 0);
  }
  let room = roomOf(o, resize);
  for (const one of [...old, current]) {
    const counted = Math.min(movedIn(one), room);
    if (counted <= 0) continue;
    resize.set(one.set.metadata.name, replicasOf(one) + counted);
    room -= counted;
  }
  return resize;
}

type Bounds = Pick<InPlaceSnapshot, 'current' | 'old' | 'replicas' | 'surge'>;

export const roomOf = ({ current, old, replicas, surge }: Bounds, resize: Resize = new Map()): number =>
  [...old, current].reduce(
    (room, one) => room - (resize.get(one.set.metadata.name) ?? replicasOf(one)),
    replicas + surge,
  );

const vacated = (one: SetWithMachines): number => replicasOf(one) - one.machines.length;

export const mayNotRefill = ({ set }: SetWithMachines): boolean =>
  set.metadata.labels?.[Labels.ScaleUpDisabled] !== undefined;

/** Corrects the sizes of sets after moves of machines between sets (docs/compatibility/rules-deployments.md §5.3). */
export function repairSizes(o: InPlaceSnapshot): Map<string, number> {
  const resize = sizesOfMoved(o);
  for (const one of o.old.filter(mayNotRefill)) {
    if (vacated(one) > 0) resize.set(one.set.metadata.name, one.machines.length);
  }
  return resize;
}

/** Changes the sizes so that at least one machine of the deployment stays. */
export function keptAboveZero({ current, old, replicas, ceiling = replicas }: InPlaceSnapshot, resize: Resize): Resize {
  const left = [...old, current].some((one) => (resize.get(one.set.metadata.name) ?? replicasOf(one)) > 0);
  if (left || replicas === 0) return resize;
  return new Map([...resize, [current.set.metadata.name, Math.max(Math.min(replicas, ceiling), 1)]]);
}

/** Returns the new size of the current set when no machine has to move. */
export function resizeCurrent(o: InPlaceSnapshot): { resize: Resize; because: string } | undefined {
  const n = replicasOf(o.current);
  const left = replicasOfAll(o.old);
  const { name } = o.current.set.metadata;
  if (n > o.replicas) return { resize: new Map([[name, o.replicas]]), because: 'spec.replicas was reduced' };
  const surplus = left + n - o.replicas - o.surge;
  if (surplus > 0)
    return { resize: scaledDown(o, surplus), because: 'spec.replicas was reduced: deleting surplus machines' };
  const resize = grown({ current: asSize(o.current), old: o.old.map(asSize) }, o.replicas - left - n, o);
  if (resize.size === 0) return undefined;
  const because = resize.has(name)
    ? 'the current set creates the missing machines'
    : 'the last good set creates the missing machines, because the current set never had all its machines';
  return { resize, because };
}

/** With `maxUnavailable` 0 and without surge machines, no machine would ever be selected for its in-place update. */
export function intoSurge(o: InPlaceSnapshot): Resize {
  const { current, old, replicas, surge } = o;
  const all = [...old, current];
  const room = replicas + surge - replicasOfAll(all);
  const settled = all.every(
    (one) =>
      one.machines.length === replicasOf(one) &&
      one.machines.every((machine) => isAvailable(machine) && !isSelected(machine, o)),
  );
  if (o.manual || o.repairsFirst || replicasOfAll(old) === 0 || !settled) return new Map();
  return grown({ current: asSize(current), old: [] }, room, o);
}

const asSize = ({ set, machines }: SetWithMachines): SetSize =>
  sizeOf(set, { replicas: machines.length, available: machines.filter(isAvailable).length });

const steadyOf = (one: SetWithMachines): number => Math.min(one.machines.filter(isAvailable).length, replicasOf(one));

function scaledDown(o: InPlaceSnapshot, surplus: number): Resize {
  const { current, old, replicas, unavailable } = o;
  const available = [...old, current].reduce((total, one) => total + steadyOf(one), 0);
  const idle = old.reduce((total, one) => total + replicasOf(one) - steadyOf(one), 0);
  const fromIdle = Math.min(surplus, idle);
  const fromAvailable = Math.min(surplus - fromIdle, rolloutRoom(available, replicas, unavailable));
  const resize = shrunk(old, fromIdle, steadyOf);
  const rest = old.map((one) => ({ one, size: resize.get(one.set.metadata.name) ?? replicasOf(one) }));
  let left = fromAvailable;
  for (const { one, size } of rest) {
    const take = Math.min(size, left);
    if (take > 0) resize.set(one.set.metadata.name, size - take);
    left -= take;
  }
  return new Map([...resize, ...shrunk([current], surplus - fromIdle - fromAvailable + left, steadyOf)]);
}

/**
 * Reduces the old sets by their unavailable machines, and by the available machines that the deployment does not need.
 */
export function surplusGone(o: InPlaceSnapshot, left: readonly SetWithMachines[]): Map<string, number> {
  const available = [...left, o.current].reduce((total, one) => total + steadyOf(one), 0);
  const idle = left.reduce((total, one) => total + replicasOf(one) - steadyOf(one), 0);
  const surplus = o.repairsFirst ? 0 : rolloutRoom(available, o.replicas, o.unavailable);
  return shrunk(left, surplus + idle, (one) => one.machines.filter((machine) => o.postponed?.has(machine)).length);
}

function shrunk(
  sets: readonly SetWithMachines[],
  surplus: number,
  kept: (one: SetWithMachines) => number = () => 0,
): Map<string, number> {
  const resize = new Map<string, number>();
  let rest = surplus;
  for (const withMachines of sets) {
    const take = Math.min(Math.max(replicasOf(withMachines) - kept(withMachines), 0), rest);
    if (take > 0) resize.set(withMachines.set.metadata.name, replicasOf(withMachines) - take);
    rest -= take;
  }
  return resize;
}
