import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../apimachinery/objects/quantity.ts';
import { Neighbours } from './neighbours.ts';
import { HostPorts, hostPortsOf, usagePartOf } from './ports.ts';

/** The unit is a thousandth, so `100m` of CPU is a whole number. */
export type Amounts = ReadonlyMap<string, number>;

const milli = (quantity: unknown): number => Number(quantityNanos(quantity) / 1_000_000n);

function add(to: Map<string, number>, amounts: Readonly<Record<string, unknown>>): void {
  for (const [name, quantity] of Object.entries(amounts)) to.set(name, (to.get(name) ?? 0) + milli(quantity));
}

const known = new WeakMap<object, Amounts>();

/**
 * Returns the requests of a pod: the sum of all containers, or a higher request of an init container. The requests
 * include the overhead. Each pod requests one pod, because a node limits the number of its pods.
 */
export function requestsOf(pod: ApiObject): Amounts {
  const key = usagePartOf(pod);
  const found = known.get(key);
  if (found !== undefined) return found;
  const spec = look(pod, 'spec');
  const sum = new Map<string, number>();
  for (const container of items(spec, 'containers')) add(sum, look(container, 'resources', 'requests'));
  for (const container of items(spec, 'initContainers')) {
    const requests = look(container, 'resources', 'requests');
    // An init container that always restarts runs as long as the pod, so the sum includes its request.
    if (text(container, 'restartPolicy') === 'Always') add(sum, requests);
    else
      for (const [name, quantity] of Object.entries(requests))
        sum.set(name, Math.max(sum.get(name) ?? 0, milli(quantity)));
  }
  add(sum, look(spec, 'overhead'));
  sum.set('pods', 1000);
  known.set(key, sum);
  return sum;
}

/** A node without reported allocatable resources has no limits. */
export function allocatableOf(node: ApiObject): Amounts {
  const found = known.get(node);
  if (found !== undefined) return found;
  const amounts = new Map<string, number>();
  add(amounts, look(node, 'status', 'allocatable'));
  known.set(node, amounts);
  return amounts;
}

interface Place {
  readonly node: string;
  readonly amounts: Amounts;
  readonly ports: ReturnType<typeof hostPortsOf>;
}

export class Usage {
  readonly neighbours = new Neighbours();
  readonly #nodes = new Map<string, Map<string, number>>();
  readonly #pods = new Map<string, Place>();
  readonly #ports = new HostPorts();

  put(pod: ApiObject, node: string): void {
    const { uid = '' } = pod.metadata;
    if (this.#pods.has(uid)) return;
    const amounts = requestsOf(pod);
    const ports = hostPortsOf(pod);
    this.#pods.set(uid, { node, amounts, ports });
    this.#add(node, amounts, 1);
    this.#ports.put(node, ports, 1);
    this.neighbours.put(pod, node);
  }

  remove(uid: string): void {
    const place = this.#pods.get(uid);
    if (place === undefined) return;
    this.#pods.delete(uid);
    this.neighbours.remove(uid);
    this.#add(place.node, place.amounts, -1);
    this.#ports.put(place.node, place.ports, -1);
  }

  hasPorts(pod: ApiObject, node: string): boolean {
    const ports = hostPortsOf(pod);
    return ports.length === 0 || this.#ports.areFree(node, ports);
  }

  nodeOf(uid: string): string | undefined {
    return this.#pods.get(uid)?.node;
  }

  used(node: string, resource: string): number {
    return this.#nodes.get(node)?.get(resource) ?? 0;
  }

  #add(node: string, amounts: Amounts, sign: 1 | -1): void {
    const used = this.#nodes.get(node) ?? new Map<string, number>();
    this.#nodes.set(node, used);
    for (const [resource, amount] of amounts) {
      const now = (used.get(resource) ?? 0) + sign * amount;
      if (now === 0) used.delete(resource);
      else used.set(resource, now);
    }
    if (used.size === 0) this.#nodes.delete(node);
  }
}
