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
  readonly lagMs: (...kinds: readonly string[]) => number;
  /** Returns the longest delay of the caches that the controller cannot notice, in milliseconds. */
  readonly unnoticedLagMs: (...kinds: readonly string[]) => number;
  readonly jumpMs: () => number;
}

const nodeOf = ({ metadata: { labels, name } }: Machine): string => labels?.node ?? name;
const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/**
 * Verifies rule (j):
 * - A machine becomes Unknown or Failed only while its Node is not Ready.
 * - A machine becomes Failed only after its health timeout has expired.
 * - Within a group, only one machine becomes Failed at a time.
 */
export class HealthVerifier {
  readonly #o: HealthVerifierOptions;
  readonly #readySince = new Map<string, number>();
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
      violate(`machine ${name} becomes Failed after only ${lasted} ms in the phase Unknown`);
    for (const other of this.#replacedBeside(machine))
      violate(`machine ${name} becomes Failed before the replacement of machine ${other} is complete`);
  }

  #verifyNode(machine: Machine, phase: string): void {
    const { cache, violate, unnoticedLagMs } = this.#o;
    const node = cache.nodes.store.get(nodeOf(machine));
    const readyMs = this.#now() - (this.#readySince.get(nodeOf(machine)) ?? this.#now());
    if (!node || node.spec.providerID !== machine.spec.providerID) return;
    if (readyMs > BOUNDS.outdated.ms + unnoticedLagMs('nodes', 'machines'))
      violate(`machine ${machine.metadata.name} becomes ${phase} although its Node has been Ready for ${readyMs} ms`);
  }

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
