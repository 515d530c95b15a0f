import { Annotations, type Machine } from '@mcm/api';
import { phaseOf } from '@mcm/conformance/fleet';
import type { Clock, Node } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { ApiCache } from './api-cache.ts';

export interface HealthVerifierOptions {
  readonly clock: Clock;
  readonly cache: ApiCache;
  readonly healthTimeoutMs: number;
  readonly violate: (text: string) => void;
  /** The maximum age of the controller's cached state of these kinds (plural names), in milliseconds. */
  readonly lagMs: (...kinds: readonly string[]) => number;
  /** The maximum age of the cached state that the controller does not know to be outdated, in milliseconds. */
  readonly unnoticedLagMs: (...kinds: readonly string[]) => number;
  /** The largest jump of a controller's clock since the start. */
  readonly jumpMs: () => number;
}

const nodeOf = ({ metadata: { labels, name } }: Machine): string => labels?.node ?? name;
const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/**
 * Rule (j):
 * - A machine becomes Unknown or Failed only if its Node is not Ready. A controller must not decide from data that the
 *   controller knows to be outdated.
 * - A machine becomes Failed only after its health timeout.
 * - Only one machine of a group becomes Failed at a time.
 */
export class HealthVerifier {
  readonly #o: HealthVerifierOptions;
  /** The times at which Nodes became Ready, by name. */
  readonly #readySince = new Map<string, number>();
  /** The times of the last phase change, by the UID of the machine. */
  readonly #phaseSince = new Map<string, number>();

  constructor(options: HealthVerifierOptions) {
    this.#o = options;
    const { cache } = options;
    cache.nodes.onChange(({ type, object }) => this.#node(object, type === 'deleted'));
    cache.machines.onChange((change) => {
      if (change.type === 'updated') this.#changed(change.old, change.object);
    });
  }

  #now(): number {
    return this.#o.clock.now().getTime();
  }

  #node(node: Node, isGone: boolean): void {
    const { name } = node.metadata;
    if (isGone || !isReady(node)) this.#readySince.delete(name);
    else if (!this.#readySince.has(name)) this.#readySince.set(name, this.#now());
  }

  #changed(before: Machine, machine: Machine): void {
    const [from, to] = [phaseOf(before), phaseOf(machine)];
    if (from === to) return;
    const { uid, name } = machine.metadata;
    const since = this.#phaseSince.get(uid) ?? this.#now();
    this.#phaseSince.set(uid, this.#now());
    if (to === 'Unknown') this.#verifyNode(machine, 'Unknown');
    if (from !== 'Unknown' || to !== 'Failed') return;
    this.#verifyNode(machine, 'Failed');
    const { healthTimeoutMs, jumpMs, lagMs, violate } = this.#o;
    const lasted = this.#now() - since;
    if (lasted + jumpMs() + BOUNDS.slack.ms + lagMs('machines') < healthTimeoutMs)
      violate(`${name} becomes Failed after ${lasted} ms in the phase Unknown`);
    for (const other of this.#replacedBeside(machine))
      violate(`${name} becomes Failed before the replacement of ${other} is complete`);
  }

  /**
   * Verifies that the Node of the machine's VM is not Ready. The Node may have become Ready within the maximum age of
   * caches.
   */
  #verifyNode(machine: Machine, phase: string): void {
    const { cache, violate, unnoticedLagMs } = this.#o;
    const node = cache.nodes.store.get(nodeOf(machine));
    const readyMs = this.#now() - (this.#readySince.get(nodeOf(machine)) ?? this.#now());
    if (!node || node.spec.providerID !== machine.spec.providerID) return;
    if (readyMs > BOUNDS.outdated.ms + unnoticedLagMs('nodes', 'machines'))
      violate(`${machine.metadata.name} becomes ${phase} although its Node has been Ready for ${readyMs} ms`);
  }

  /** Machines of the machine's group that are Failed or in deletion, and whose replacement is not complete yet. */
  #replacedBeside({ metadata: { uid } }: Machine): readonly string[] {
    const since = this.#now() - this.#o.lagMs('machines');
    return this.#o.cache.machines.store
      .list()
      .filter(({ metadata }) => metadata.uid !== uid && metadata.annotations?.[Annotations.Undrained] === undefined)
      .filter((other) => ['Failed', 'Terminating'].includes(phaseOf(other)))
      .filter(({ metadata }) => (this.#phaseSince.get(metadata.uid) ?? this.#now()) < since)
      .map(({ metadata }) => metadata.name);
  }
}
