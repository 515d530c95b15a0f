import { Labels, type Machine } from '@mcm/api';
import { controllerOf } from '@mcm/kube';
import { isAvailable } from '../objects/machines.ts';

class Index {
  readonly #keyOf: (machine: Machine) => string | undefined;
  readonly #groups = new Map<string, { readonly byUid: Map<string, Machine>; list?: readonly Machine[] | undefined }>();

  constructor(keyOf: (machine: Machine) => string | undefined) {
    this.#keyOf = keyOf;
  }

  /** Returns the machines with the key. The result is the same list object until a machine with the key changes. */
  of(key: string): readonly Machine[] {
    const group = this.#groups.get(key);
    if (!group) return [];
    group.list ??= [...group.byUid.values()];
    return group.list;
  }

  /** Adds, changes or removes a machine; a machine with an unchanged key keeps its position. */
  change(before: Machine | undefined, after: Machine | undefined): void {
    const from = before && this.#keyOf(before);
    const to = after && this.#keyOf(after);
    if (before && from !== undefined && from !== to) this.#group(from).delete(before.metadata.uid);
    if (after && to !== undefined) this.#group(to).set(after.metadata.uid, after);
  }

  #group(key: string): Map<string, Machine> {
    const group = this.#groups.get(key) ?? { byUid: new Map<string, Machine>() };
    group.list = undefined;
    this.#groups.set(key, group);
    return group.byUid;
  }
}

export class SimulatedFleet {
  readonly #byUid = new Map<string, Machine>();
  readonly #bySet = new Index((machine) => controllerOf(machine)?.uid);
  readonly #byNode = new Index(({ metadata }) => metadata.labels?.[Labels.Node]);
  #available = 0;

  get size(): number {
    return this.#byUid.size;
  }

  get available(): number {
    return this.#available;
  }

  get(uid: string): Machine | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns all machines. The cost of a call grows with the size of the fleet. */
  all(): readonly Machine[] {
    return [...this.#byUid.values()];
  }

  of(setUid: string): readonly Machine[] {
    return this.#bySet.of(setUid);
  }

  on(node: string): Machine | undefined {
    return this.#byNode.of(node)[0];
  }

  put(machine: Machine): void {
    const { uid } = machine.metadata;
    this.#change(this.#byUid.get(uid), machine);
    this.#byUid.set(uid, machine);
  }

  delete(uid: string): void {
    this.#change(this.#byUid.get(uid), undefined);
    this.#byUid.delete(uid);
  }

  #change(before: Machine | undefined, after: Machine | undefined): void {
    this.#bySet.change(before, after);
    this.#byNode.change(before, after);
    this.#available += Number(after !== undefined && isAvailable(after));
    this.#available -= Number(before !== undefined && isAvailable(before));
  }
}
