import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { type Change, type Controller, type Informer, type KubeObject, keyOf, type Node } from '@mcm/kube';
import { type ControllerContext, machineIndexes, machineSetIndexes } from '../control/caches.ts';

type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

class FixedCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #handlers: ((change: Change<T>) => void)[] = [];
  readonly #indexes: Indexes<T>;

  constructor(indexes: Indexes<T>, objects: readonly T[]) {
    this.#indexes = indexes;
    for (const object of objects) this.#objects.set(keyOf(object), object);
  }

  readonly store = {
    get: (key: string): T | undefined => this.#objects.get(key),
    list: (): readonly T[] => [...this.#objects.values()],
    byIndex: (index: string, value: string): readonly T[] =>
      [...this.#objects.values()].filter((object) => this.#indexes[index]?.(object).includes(value)),
  };

  onChange(handler: (change: Change<T>) => void): () => void {
    this.#handlers.push(handler);
    return () => undefined;
  }

  add(object: T): void {
    this.#notify({ type: 'added', key: keyOf(object), object }, object);
  }

  update(old: T, object: T): void {
    this.#notify({ type: 'updated', key: keyOf(object), old, object }, object);
  }

  remove(object: T): void {
    this.#notify({ type: 'deleted', key: keyOf(object), object }, undefined);
  }

  #notify(change: Change<T>, now: T | undefined): void {
    if (now === undefined) this.#objects.delete(change.key);
    else this.#objects.set(change.key, now);
    for (const handler of this.#handlers) handler(change);
  }
}

export interface FixedContext {
  readonly deployments: FixedCache<MachineDeployment>;
  readonly sets: FixedCache<MachineSet>;
  readonly machines: FixedCache<Machine>;
  readonly nodes: FixedCache<Node>;
  woken(): readonly string[];
}

export function fixedContext(
  wire: (controller: Controller, context: ControllerContext) => void,
  objects: {
    readonly deployments?: readonly MachineDeployment[];
    readonly sets?: readonly MachineSet[];
    readonly machines?: readonly Machine[];
  },
): FixedContext {
  const deployments = new FixedCache<MachineDeployment>({}, objects.deployments ?? []);
  const sets = new FixedCache<MachineSet>(machineSetIndexes, objects.sets ?? []);
  const machines = new FixedCache<Machine>(machineIndexes, objects.machines ?? []);
  const nodes = new FixedCache<Node>({}, []);
  const keys = new Set<string>();
  const controller: Pick<Controller, 'enqueue' | 'watch'> = {
    enqueue: (key) => void keys.add(key),
    watch: <T extends KubeObject>(informer: Informer<T>, keysOf: (change: Change<T>) => Iterable<string>) =>
      void informer.onChange((change) => {
        for (const key of keysOf(change)) keys.add(key);
      }),
  };
  const context = { deployments, sets, machines, nodes: { informer: nodes } };
  wire(controller as Controller, context as never);
  return {
    ...context,
    nodes,
    woken: () => {
      const all = [...keys];
      keys.clear();
      return all;
    },
  };
}
