import type { Machine, MachineClass } from '@mcm/api';
import { type Change, type KubeObject, keyOf, type Node } from '@mcm/kube';
import { type CensusSources, UnreachableCensus } from './census.ts';

class Reported<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #hearers: ((change: Change<T>) => void)[] = [];
  readonly store = { get: (key: string): T | undefined => this.#objects.get(key) };
  onChange(hearer: (change: Change<T>) => void): () => void {
    this.#hearers.push(hearer);
    return () => void this.#hearers.splice(this.#hearers.indexOf(hearer), 1);
  }
  put(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const hear of this.#hearers)
      hear(old ? { type: 'updated', key, object, old } : { type: 'added', key, object });
  }
  lose(object: T): void {
    const key = keyOf(object);
    this.#objects.delete(key);
    for (const hear of this.#hearers) hear({ type: 'deleted', key, object });
  }
}

export function fixedCensus({
  target = true,
  region,
}: {
  readonly target?: boolean;
  readonly region?: CensusSources['region'];
} = {}) {
  const machines = new Reported<Machine>();
  const classes = new Reported<MachineClass>();
  const nodes = new Reported<Node>();
  const census = new UnreachableCensus({ machines, classes, nodes: target ? nodes : undefined, region });
  return { machines, classes, nodes, census };
}
