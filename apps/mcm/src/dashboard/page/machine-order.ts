import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';
import { phaseName } from '../../screen/fleet.ts';
import { type Mood, moodOf } from './words.ts';

/** Its phase as people call it; one that is being deleted is Terminating whatever its status says yet. */
export const phaseOf = ({ metadata, status }: Machine): string =>
  metadata.deletionTimestamp === undefined ? phaseName(status?.currentStatus?.phase ?? '') : 'Terminating';

/** The mood of its phase; the index of the machines' cache that `MachineOrder` reads. */
export const machineMood = (machine: Machine): Mood => moodOf(phaseOf(machine));

/** The ones that want something stand first. */
const ORDER: readonly Mood[] = ['bad', 'busy', 'idle', 'good'];

/** Names are ASCII: to compare them by a language's rules costs a hundred times as much. */
const byName = (a: Machine, b: Machine): number => (a.metadata.name < b.metadata.name ? -1 : 1);

/** The first of some: whole groups are sorted only as far as they are shown. */
export function firstOf(found: readonly Machine[], most: number): readonly Machine[] {
  const groups = Map.groupBy(found, machineMood);
  const shown: Machine[] = [];
  for (const mood of ORDER) {
    if (shown.length >= most) break;
    shown.push(...(groups.get(mood) ?? []).sort(byName));
  }
  return shown.slice(0, most);
}

/** Where a key stands in a sorted list, or would. */
function placeOf(keys: readonly string[], key: string): number {
  let [from, to] = [0, keys.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((keys[middle] ?? '') < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Where machines come from; their index `mood` is `machineMood`. */
interface Source extends Pick<Informer<Machine>, 'onChange'> {
  readonly store: Pick<Informer<Machine>['store'], 'get' | 'byIndex' | 'countByIndex'>;
}

/** Counts and order of all machines, kept up with each change: to ask for them costs what is shown, not what there is. */
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

  /** How many machines are in each phase. */
  get phases(): ReadonlyMap<string, number> {
    return this.#phases;
  }

  /** As `firstOf` all of them. */
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

  /** Of a mood that many are in the first are soon found. */
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
