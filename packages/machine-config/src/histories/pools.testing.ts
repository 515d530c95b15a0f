import { controllerOf, isConflict, type KubeClient, type Node, nodes, seededRandom, type Transport } from '@mcm/kube';
import { ConfigLabels } from '../constants/labels.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { PlayedFleet } from '../daemon/fleet.testing.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { controllerConfigs, machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { configOf, startWorld, type World } from '../testing.ts';
import { notRecovered, unnecessaryWrites } from './rest.testing.ts';
import { PoolVerifier } from './verifier.testing.ts';
import { FaultyWire } from './wire.testing.ts';

const MINUTE = 60_000;
const ROLE = 'node-role.kubernetes.io/';

/** The pools of the simulation: the pool of the workers and two custom pools. */
export const POOLS = ['worker', 'infra', 'edge'] as const;
export type PoolName = (typeof POOLS)[number];
const CUSTOM: readonly PoolName[] = ['infra', 'edge'];

export type PoolAct =
  | { readonly kind: 'change'; readonly pool: PoolName; readonly to: string }
  | { readonly kind: 'break'; readonly pool: PoolName }
  | { readonly kind: 'pause'; readonly pool: PoolName; readonly paused: boolean }
  | { readonly kind: 'limit'; readonly pool: PoolName; readonly limit: number }
  | { readonly kind: 'ready'; readonly node: number; readonly ready: boolean }
  | { readonly kind: 'join'; readonly pool: PoolName }
  | { readonly kind: 'leave'; readonly node: number }
  | { readonly kind: 'move'; readonly node: number; readonly to: PoolName | 'both' }
  | { readonly kind: 'toggle'; readonly pool: 'infra' | 'edge' }
  | { readonly kind: 'die'; readonly node: number; readonly steps: number; readonly done: boolean }
  | { readonly kind: 'crash'; readonly requests: number; readonly done: boolean }
  | { readonly kind: 'harm'; readonly chance: number }
  | { readonly kind: 'hold'; readonly plural: string; readonly ms: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'backup' }
  /** With `bump`, the restore increases the resource versions. */
  | { readonly kind: 'restore'; readonly bump: boolean };

export interface PoolsOptions {
  readonly nodes?: Readonly<Partial<Record<PoolName, number>>>;
  readonly limit?: number;
  readonly haltAt?: number;
  readonly single?: boolean;
  readonly broken?: (transport: Transport, world: () => PoolsWorld) => Transport;
}

/** A simulated cluster with pools, daemons, and nodes that move between the pools. */
export class PoolsWorld {
  readonly world: World;
  readonly wire: FaultyWire;
  readonly fleet: PlayedFleet;
  readonly verifier: PoolVerifier;
  readonly #bad = new Set<string>();
  readonly #stop = new AbortController();
  readonly options: PoolsOptions;
  #made = 0;
  #backup: ReturnType<World['plane']['snapshot']> | undefined;

  static async start(options: PoolsOptions = {}): Promise<PoolsWorld> {
    let world: World | undefined;
    let pools: PoolsWorld | undefined;
    const wire = new FaultyWire(seededRandom(11), () => {
      const dying = world;
      void dying?.crash().then(() => {
        wire.restart();
        dying.start();
      });
    });
    const { broken = (transport) => transport, haltAt } = options;
    const self = (): PoolsWorld => {
      if (!pools) throw new Error('not started');
      return pools;
    };
    world = await startWorld({
      wire: (transport) => broken(wire.wrap(transport), self),
      ...(haltAt !== undefined && { update: { haltAt } }),
    });
    pools = new PoolsWorld(world, wire, options);
    await pools.#furnish();
    return pools;
  }

  private constructor(world: World, wire: FaultyWire, options: PoolsOptions) {
    [this.world, this.wire, this.options] = [world, wire, options];
    this.fleet = new PlayedFleet(world.client, world.clock);
    this.verifier = new PoolVerifier(world.clock, this.#bad, () => wire.ageMs(world.clock));
    this.verifier.watch(world.client, this.#stop.signal);
  }

  get client(): KubeClient {
    return this.world.client;
  }

  async #furnish(): Promise<void> {
    const { nodes: counts = { worker: 3, infra: 2 }, single } = this.options;
    const infra = { status: { controlPlaneTopology: 'SingleReplica' } };
    await this.client.resource(controllerConfigs).create({
      metadata: { name: CONTROLLER_CONFIG_NAME },
      spec: { clusterDNSIP: '10.0.0.10', platform: 'none', ...(single && { infra }) },
    });
    for (const pool of POOLS) {
      await this.client.resource(machineConfigs).create({
        metadata: { name: `50-${pool}`, labels: { [ConfigLabels.Role]: pool } },
        spec: { config: configOf('a', `/etc/${pool}`), kernelArguments: ['x'] },
      });
      await this.#createPool(pool);
    }
    for (const pool of POOLS) for (let count = counts[pool] ?? 0; count > 0; count -= 1) await this.join(pool);
    await this.world.clock.advance(5 * MINUTE);
  }

  async #createPool(name: PoolName): Promise<void> {
    const values = [...new Set(['worker', name])];
    await this.client.resource(machineConfigPools).create({
      metadata: { name, labels: { [`${ConfigLabels.PoolPrefix}${name}`]: '' } },
      spec: {
        machineConfigSelector: { matchExpressions: [{ key: ConfigLabels.Role, operator: 'In', values }] },
        nodeSelector: { matchLabels: { [ROLE + name]: '' } },
        maxUnavailable: this.options.limit ?? 1,
      },
    });
  }

  async join(pool: PoolName): Promise<void> {
    const name = `n${this.#made}`;
    this.#made += 1;
    const labels = { [`${ROLE}worker`]: '', [ROLE + pool]: '' };
    await this.client.resource(nodes).create({ metadata: { name, labels }, spec: {} });
  }

  pools = async (): Promise<readonly MachineConfigPool[]> =>
    (await this.client.resource(machineConfigPools).list()).items;
  nodes = async (): Promise<readonly Node[]> => (await this.client.resource(nodes).list()).items;

  async pool(name: PoolName): Promise<MachineConfigPool | undefined> {
    return (await this.pools()).find(({ metadata }) => metadata.name === name);
  }

  async node(index: number): Promise<Node | undefined> {
    const all = await this.nodes();
    return all[index % Math.max(all.length, 1)];
  }

  async write(pool: PoolName, config: object): Promise<void> {
    const body = { spec: { config } };
    await this.client.resource(machineConfigs).patch(`50-${pool}`, { type: 'merge', body });
  }

  async patchPool(name: PoolName, spec: object): Promise<void> {
    if (!(await this.pool(name))) return;
    await this.client.resource(machineConfigPools).patch(name, { type: 'merge', body: { spec } });
  }

  async ready({ metadata: { name } }: Node, ready: boolean): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const patch = { type: 'merge', body: { status: { conditions } } } as const;
    await this.client.resource(nodes).patch(name, patch, { subresource: 'status' });
  }

  async move({ metadata: { name } }: Node, to: PoolName | 'both'): Promise<void> {
    const labels = Object.fromEntries(CUSTOM.map((pool) => [ROLE + pool, to === pool || to === 'both' ? '' : null]));
    await this.client.resource(nodes).patch(name, { type: 'merge', body: { metadata: { labels } } });
  }

  async break(pool: PoolName): Promise<void> {
    await this.write(pool, configOf('x', '/etc/hostname/below'));
    await this.world.clock.advance(6_000);
    await this.#noteBad();
  }

  async #noteBad(): Promise<void> {
    const { items } = await this.client.resource(machineConfigs).list();
    for (const one of items) {
      if (JSON.stringify(one.spec).includes('hostname/below')) this.#bad.add(one.metadata.name);
    }
  }

  async toggle(name: 'infra' | 'edge'): Promise<void> {
    const pool = await this.pool(name);
    if (!pool) return this.#createPool(name);
    await this.client.resource(machineConfigPools).delete(name);
    const { items } = await this.client.resource(machineConfigs).list();
    for (const one of items) {
      if (controllerOf(one)?.uid === pool.metadata.uid)
        await this.client.resource(machineConfigs).delete(one.metadata.name);
    }
  }

  async act(one: PoolAct): Promise<void> {
    try {
      await this.#act(one);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  async #act(one: PoolAct): Promise<void> {
    switch (one.kind) {
      case 'change':
        return this.write(one.pool, configOf(one.to, `/etc/${one.pool}`));
      case 'break':
        return this.break(one.pool);
      case 'pause':
        return this.patchPool(one.pool, { paused: one.paused });
      case 'limit':
        return this.patchPool(one.pool, { maxUnavailable: one.limit });
      case 'join':
        return this.join(one.pool);
      case 'toggle':
        return this.toggle(one.pool);
      case 'crash':
        return this.wire.die(one);
      case 'harm':
        return this.wire.failWrites(one.chance);
      case 'hold':
        return this.wire.hold(one.plural, this.world.clock, one.ms);
      case 'cut':
        return this.wire.cut();
      case 'backup':
        this.#backup = this.world.plane.snapshot();
        return;
      case 'restore':
        return this.restore(one.bump);
      default:
        return this.#toNode(one);
    }
  }

  /** Nodes that are younger than the backup register again, as kubelets do after a restart. */
  async restore(bump = false): Promise<void> {
    if (!this.#backup) return;
    const before = await this.nodes();
    await this.world.plane.restore(this.#backup, { bumpRevision: bump ? 1_000_000 : 0 });
    const known = new Set((await this.nodes()).map(({ metadata }) => metadata.name));
    for (const { metadata, spec } of before.filter((node) => !known.has(node.metadata.name))) {
      const { name, labels = {} } = metadata;
      await this.client.resource(nodes).create({ metadata: { name, labels }, spec });
    }
  }

  async #toNode(one: Extract<PoolAct, { readonly node: number }>): Promise<void> {
    const node = await this.node(one.node);
    if (!node) return;
    if (one.kind === 'ready') return this.ready(node, one.ready);
    if (one.kind === 'move') return this.move(node, one.to);
    if (one.kind === 'leave') {
      await this.client.resource(nodes).delete(node.metadata.name);
      return;
    }
    const host = this.fleet.host(node.metadata.name);
    [host.left, host.done] = [one.steps, one.done];
  }

  async rest(): Promise<void> {
    this.wire.repair();
    for (const name of this.fleet.hosts.keys()) this.fleet.restart(name);
    await this.world.clock.advance(30 * MINUTE);
    await this.#noteBad();
  }

  async repair(): Promise<void> {
    for (const name of POOLS) {
      if (!(await this.pool(name))) await this.toggle(name as 'infra');
      await this.write(name, configOf('good', `/etc/${name}`));
      await this.patchPool(name, { paused: false });
    }
    for (const node of await this.nodes()) {
      await this.ready(node, true);
      if (CUSTOM.every((pool) => node.metadata.labels?.[ROLE + pool] !== undefined)) await this.move(node, 'infra');
    }
    await this.world.clock.advance(30 * MINUTE);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.fleet.stop();
    this.wire.repair();
    await this.world.end();
  }
}

export async function playPools(
  options: PoolsOptions,
  acts: readonly (readonly [PoolAct, number])[],
): Promise<readonly string[]> {
  const world = await PoolsWorld.start(options);
  try {
    for (const [act, waits] of acts) {
      await world.act(act);
      await world.world.clock.advance(waits);
    }
    await world.rest();
    const resting = (await unnecessaryWrites(world)).map((one) => `at rest: ${one}`);
    await world.repair();
    const repaired = [...(await notRecovered(world)), ...(await unnecessaryWrites(world))].map(
      (one) => `repaired: ${one}`,
    );
    return [...world.verifier.problems, ...resting, ...repaired];
  } finally {
    await world.end();
  }
}
