import type { Dice } from '../script/dice.ts';
import type { SourceName } from './fleet-source.ts';
import type { FleetWorld } from './fleet-world.ts';
import { EXPIRED, kubeconfigOf } from './wires.ts';

/**
 * A seed is divided by 12, and its remainder determines the source with which the fleet finds its clusters. Histories
 * with the remainder 7 have a rollout budget.
 */
const REMAINDERS: ReadonlyMap<number, SourceName> = new Map([
  [2, 'clusters'],
  [7, 'clusters'],
  [10, 'profiles'],
]);

export const sourceOf = (seed: number): SourceName | undefined => REMAINDERS.get(seed % 12);

const COMMON = { leave: 2, remove: 2, spoil: 3 } as const;
const OF_CLUSTERS = { pause: 2, second: 1 } as const;
export type SourceActName = keyof typeof COMMON | keyof typeof OF_CLUSTERS;

/** Returns the additional actions of a history with a source, and their weights. */
export function sourceActsOf(source: SourceName | undefined): Readonly<Partial<Record<SourceActName, number>>> {
  if (source === undefined) return {};
  return source === 'clusters' ? { ...COMMON, ...OF_CLUSTERS } : COMMON;
}

/**
 * A cluster is absent from the fleet for at least this time, so that the verifier requires the replicas to stop serving
 * it.
 */
const ABSENT_MS = 180_000;
const MORE_MS = 60_000;

/** The actions on the objects with which a fleet finds its clusters. Each action ends after some time. */
export class SourceActs {
  readonly #world: FleetWorld;
  readonly #dice: Dice;

  constructor(world: FleetWorld, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  async act(name: SourceActName, cluster: string): Promise<void> {
    const { source, misled, handedOver } = this.#world;
    if (cluster === '' || misled.has(cluster) || handedOver.has(cluster)) return;
    const how = this.#dice.one(['field', 'annotation'] as const);
    const acts: Readonly<Record<SourceActName, () => Promise<void>>> = {
      leave: () => this.#absent(cluster, 'loses its label', (is) => source.join(cluster, !is)),
      remove: () => this.#absent(cluster, 'loses its object', (is) => source.exists(cluster, !is)),
      pause: () => this.#absent(cluster, 'is paused', (is) => source.pause(cluster, is ? how : undefined)),
      second: () => this.#absent(cluster, 'gets a second Cluster', (is) => source.second(cluster, is)),
      spoil: () => this.#spoil(cluster),
    };
    await acts[name]();
  }

  /** Removes a cluster from the fleet for some time. During this time, no replica may serve the cluster. */
  async #absent(cluster: string, what: string, change: (isAbsent: boolean) => Promise<void>): Promise<void> {
    const world = this.#world;
    world.reporter.note('act', `${cluster} ${what}`);
    world.leaves(cluster, true);
    await change(true);
    this.#later(ABSENT_MS + this.#dice.pause(MORE_MS), async () => {
      world.reporter.note('act', `${cluster} returns to the fleet`);
      await change(false);
      world.leaves(cluster, false);
    });
  }

  /** Replaces the kubeconfig of a cluster with an unusable kubeconfig for some time. */
  async #spoil(cluster: string): Promise<void> {
    const world = this.#world;
    const kinds = { expired: kubeconfigOf(cluster, EXPIRED), malformed: '{', empty: '' } as const;
    const kind = this.#dice.one(['expired', 'malformed', 'empty'] as const) ?? 'expired';
    world.reporter.note('act', `the kubeconfig of cluster ${cluster} is ${kind}`);
    world.misled.add(cluster);
    await world.changeKubeconfig(cluster, kinds[kind]);
    this.#later(this.#dice.pause(ABSENT_MS), () => world.mislead(cluster, undefined));
  }

  #later(ms: number, act: () => Promise<void>): void {
    const { clock, reporter } = this.#world;
    clock.setTimeout(() => {
      void act().catch((error: unknown) => reporter.violate(String(error)));
    }, ms);
  }
}
