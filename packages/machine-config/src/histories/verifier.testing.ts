import { type Clock, createInformer, type KubeClient, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import { annotationOf, isDegraded, isDone, isFailing } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { machineConfigPools } from '../kinds/resources.ts';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import { maxUnavailableOf } from '../pool/rollout/max-unavailable.ts';

const { DesiredConfig } = NodeAnnotations;

const poolOfConfig = (name: string): string => /^rendered-(.+)-[0-9a-f]{32}$/.exec(name)?.[1] ?? '';

/**
 * Watches Nodes and pools, and reports violations of the rules of a rollout. The verifier reads events directly from
 * the API server, not from the caches of the controllers.
 * - A node that was never Done is new, and counts as unavailable.
 */
export class PoolVerifier {
  readonly problems: string[] = [];
  readonly #clock: Clock;
  readonly #bad: ReadonlySet<string>;
  readonly #ageMs: () => number;
  readonly #settled = new Set<string>();
  readonly #charges = new Map<string, string>();
  readonly #nodes = new Map<string, Node>();
  readonly #pools = new Map<string, MachineConfigPool>();
  readonly #limits = new Map<string, { readonly value: MachineConfigPool['spec']; until: number }[]>();
  #poolsChanged = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, bad: ReadonlySet<string>, ageMs: () => number) {
    [this.#clock, this.#bad, this.#ageMs] = [clock, bad, ageMs];
  }

  watch(client: KubeClient, signal: AbortSignal): void {
    const runtime = { clock: this.#clock, random: seededRandom(2), log: silentLogger };
    const pools = createInformer<MachineConfigPool>(client, machineConfigPools, runtime);
    pools.onChange(({ type, object }) => this.#poolChanged(type, object));
    const all = createInformer<Node>(client, nodes, runtime);
    all.onChange(({ type, object }) => (all.doubted ? this.#relearn(type, object) : this.#nodeChanged(type, object)));
    for (const one of [pools, all]) void one.run(signal).catch((error: unknown) => this.problems.push(String(error)));
  }

  #poolChanged(type: string, pool: MachineConfigPool): void {
    const { name } = pool.metadata;
    const old = this.#pools.get(name);
    if (type === 'deleted') this.#pools.delete(name);
    else this.#pools.set(name, pool);
    const selection = (one: MachineConfigPool | undefined) => JSON.stringify(one?.spec?.nodeSelector);
    const now = this.#clock.now().getTime();
    if (type === 'deleted' || selection(old) !== selection(pool)) this.#poolsChanged = now;
    const limits = this.#limits.get(name) ?? [];
    const last = limits.at(-1);
    if (last) last.until = now;
    this.#limits.set(name, [...limits, { value: pool.spec, until: Number.POSITIVE_INFINITY }]);
    for (const node of this.#nodes.values()) this.#discharge(node);
  }

  /** Reads the state again after a restore, because the changes of the restore do not come from a controller. */
  #relearn(type: string, node: Node): void {
    const { name } = node.metadata;
    this.#poolsChanged = this.#clock.now().getTime();
    this.#charges.delete(name);
    this.#settled.delete(name);
    if (type === 'deleted') this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    if (type !== 'deleted' && isDone(node) && node.spec?.unschedulable !== true) this.#settled.add(name);
  }

  #nodeChanged(type: string, node: Node): void {
    const { name } = node.metadata;
    const old = this.#nodes.get(name);
    if (type === 'deleted') {
      this.#nodes.delete(name);
      this.#settled.delete(name);
      this.#charges.delete(name);
      return;
    }
    this.#nodes.set(name, node);
    this.#discharge(node);
    const desired = annotationOf(node, DesiredConfig);
    const reported = old !== undefined && this.#settled.has(name) && annotationOf(old, DesiredConfig) !== desired;
    if (reported) this.#reported(old, node, desired);
    if (isDone(node) && node.spec?.unschedulable !== true) {
      this.#settled.add(name);
      this.#charges.delete(name);
    }
    const pool = this.#charges.get(name);
    if (pool !== undefined && (reported || isDegraded(node))) this.#count(pool);
  }

  #poolOf(node: Node): string {
    try {
      return poolsOfNode(node, [...this.#pools.values()])[0]?.metadata.name ?? '';
    } catch (error) {
      if (error instanceof MembershipError) return '';
      throw error;
    }
  }

  #discharge(node: Node): void {
    const { name } = node.metadata;
    const charge = this.#charges.get(name);
    if (charge !== undefined && this.#poolOf(node) !== charge) this.#charges.delete(name);
  }

  #reported(old: Node, node: Node, desired: string): void {
    const [pool, from] = [this.#poolOf(node), poolOfConfig(desired)];
    if (pool === from) {
      // A node that failed after its drain is already unavailable, and only a new target can repair it.
      const stranded = isFailing(old) && old.spec?.unschedulable === true;
      if (!stranded) this.#charges.set(node.metadata.name, pool);
      return;
    }
    if (this.#clock.now().getTime() - this.#poolsChanged < this.#ageMs()) return;
    this.problems.push(`${node.metadata.name} of pool ${pool || 'none'} gets the target ${desired}`);
  }

  #count(pool: string): void {
    const own = [...this.#nodes.values()].filter(({ metadata }) => this.#charges.get(metadata.name) === pool);
    const limit = this.#limitOf(pool);
    const busy = own.filter((node) => (!isDone(node) && !isFailing(node)) || node.spec?.unschedulable === true);
    const harmed = own.filter((node) => isDegraded(node) && this.#bad.has(annotationOf(node, DesiredConfig)));
    const say = (what: string, some: readonly Node[]) =>
      this.problems.push(
        `${pool}: ${what}: ${some
          .map(({ metadata }) => metadata.name)
          .toSorted()
          .join(', ')} of ${limit}`,
      );
    if (busy.length > limit) say('too many are unavailable', busy);
    if (harmed.length > limit) say('too many are harmed', harmed);
  }

  #limitOf(name: string): number {
    const since = this.#clock.now().getTime() - this.#ageMs();
    const own = [...this.#nodes.values()].filter((node) => this.#poolOf(node) === name).length;
    const values = (this.#limits.get(name) ?? []).filter(({ until }) => until >= since);
    return Math.max(
      1,
      ...values.map(({ value }) => maxUnavailableOf({ metadata: { name }, spec: value } as never, own)),
    );
  }
}
