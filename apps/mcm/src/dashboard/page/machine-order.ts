import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';
import { phaseName } from '../../screen/fleet.ts';
import { type Mood, moodOf } from './words.ts';

/** The displayed phase. A machine with a deletion timestamp is Terminating, also if its status does not say so yet. */
export const phaseOf = ({ metadata, status }: Machine): string =>
  metadata.deletionTimestamp === undefined ? phaseName(status?.currentStatus?.phase ?? '') : 'Terminating';

/** The mood of the phase of a machine. `MachineOrder` reads the cache index with this function. */
export const machineMood = (machine: Machine): Mood => moodOf(phaseOf(machine));

/** Machines that need attention are first. */
const ORDER: readonly Mood[] = ['bad', 'busy', 'idle', 'good'];

/** Names are ASCII. A comparison with the rules of a language would be 100 times slower. */
const byName = (a: Machine, b: Machine): number => (a.metadata.name < b.metadata.name ? -1 : 1);

/** The first `most` machines in display order. It sorts only the groups that are shown. */
export function firstOf(found: readonly Machine[], most: number): readonly Machine[] {
  const groups = Map.groupBy(found, machineMood);
  const shown: Machine[] = [];
  for (const mood of ORDER) {
    if (shown.length >= most) break;
    shown.push(...(groups.get(mood) ?? []).sort(byName));
  }
  return shown.slice(0, most);
}

/** The position of a key in a sorted list. */
function placeOf(keys: readonly string[], key: string): number {
  let [from, to] = [0, keys.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((keys[middle] ?? '') < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The source of machines. Its index `mood` must be `machineMood`. */
interface Source extends Pick<Informer<Machine>, 'onChange'> {
  readonly store: Pick<Informer<Machine>['store'], 'get' | 'byIndex' | 'countByIndex'>;
}

/** Counts and order of all machines, updated with each change. A read costs the number of shown machines, not of all. */
export class MachineOrder {
  readonly #store: Source['store'];
  readonly #keys: string[] = [];
  readonly #phases = new Map<string, number>();

  constructor(machines: Source) {
    this.#store = machines.store;
    machines.onChange((change) => {
      const { type, key, object } = change;
      if (type === 'added') this.#keys.splice(placeOf(this.#keys, key), 0, key);
      if (type === 'deleted') this.#keys.splice(placeOf(this.#keys, key), 1);
      if (type !== 'added') this.#count(type === 'updated' ? change.old : object, -1);
      if (type !== 'deleted') this.#count(object, 1);
    });
  }

  #count(machine: Machine, more: number): void {
    const phase = phaseOf(machine);
    const count = (this.#phases.get(phase) ?? 0) + more;
    if (count === 0) this.#phases.delete(phase);
    else this.#phases.set(phase, count);
  }

  /** The number of machines in each phase. */
  get phases(): ReadonlyMap<string, number> {
    return this.#phases;
  }

  /** The first `most` machines, as `firstOf` returns them. */
  first(most: number): readonly Machine[] {
    const shown: Machine[] = [];
    for (const mood of ORDER) {
      const left = most - shown.length;
      if (left <= 0) break;
      const all = this.#store.countByIndex('mood', mood);
      shown.push(...(all <= left ? this.#store.byIndex('mood', mood).toSorted(byName) : this.#firstIn(mood, left)));
    }
    return shown;
  }

  /** The first machines of a mood that many machines have. A search in the sorted keys finds them early. */
  #firstIn(mood: Mood, most: number): readonly Machine[] {
    const found: Machine[] = [];
    for (const key of this.#keys) {
      const machine = this.#store.get(key);
      if (machine === undefined || machineMood(machine) !== mood) continue;
      found.push(machine);
      if (found.length === most) break;
    }
    return found;
  }
}
