import { createInformer, isConflict, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NodeAnnotations } from './constants/annotations.ts';
import { PlayedFleet } from './daemon/fleet.testing.ts';
import type { MachineConfig } from './kinds/machine-config.ts';
import { conditionOf } from './pool/conditions.ts';
import { annotationOf, isDegraded, isDone, isFailing } from './pool/predicates.ts';
import { renderPool } from './render/render.ts';
import { machineConfigPools, machineConfigs } from './resources.ts';
import { configOf, fillWorld, startWorld, WORKER_ROLE, type World } from './testing.ts';

/** Rules that hold whatever happens, on histories that nobody thought of. */

const runs = (count: number) => ({
  numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? count),
  endOnFailure: true,
});

const text = fc.constantFrom('a', 'b', 'c', 'd');
const file = fc.record({ path: text.map((name) => `/etc/${name}`), source: text.map((data) => `data:,${data}`) });
const machineConfig = fc.record({
  role: fc.constantFrom('worker', 'infra'),
  files: fc.uniqueArray(file, { maxLength: 3, selector: ({ path }) => path }),
  units: fc.uniqueArray(text, { maxLength: 2 }),
  kernelArguments: fc.array(text, { maxLength: 2 }),
});

test('rendering is a function of its inputs: in whichever order they come, the same bytes', () => {
  fc.assert(
    fc.property(
      fc.array(machineConfig, { minLength: 1, maxLength: 8 }).chain((all) => {
        const configs = all.map(({ role, files, units, kernelArguments }, index) => ({
          metadata: {
            name: `${String((index * 37) % 100).padStart(2, '0')}-x`,
            labels: { 'machineconfiguration.openshift.io/role': role },
          },
          spec: {
            kernelArguments,
            config: {
              ignition: { version: '3.5.0' },
              storage: { files: files.map(({ path, source }) => ({ path, contents: { source } })) },
              systemd: { units: units.map((name) => ({ name: `${name}.service`, contents: `[Unit]\n#${index}\n` })) },
            },
          },
        }));
        return fc.tuple(fc.constant(configs), fc.shuffledSubarray(configs, { minLength: configs.length }));
      }),
      ([ordered, shuffled]) => {
        const bytes = (configs: readonly object[]) =>
          JSON.stringify(
            renderPool({
              pool: { metadata: { name: 'worker', uid: 'u' }, spec: {} },
              controllerConfig: {
                metadata: { annotations: { 'machineconfiguration.openshift.io/generated-by-version': 'v1' } },
                spec: {},
              },
              // Others' objects: nothing that an earlier render remembered of them.
              configs: structuredClone(configs) as MachineConfig[],
              identity: { version: 'v1', hash: 'h' },
            } as unknown as Parameters<typeof renderPool>[0]).machineConfig,
          );
        expect(bytes(shuffled)).toBe(bytes(ordered));
      },
    ),
    runs(300),
  );
});

/** What may happen to a pool. */
const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('change' as const), to: text }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'break' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause' as const), paused: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ready' as const), node: fc.nat(4), ready: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'join' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), node: fc.nat(4) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('crash' as const), writes: fc.nat(6), lost: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('die' as const),
      node: fc.nat(4),
      steps: fc.nat(12),
      done: fc.boolean(),
    }),
  },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

/** A pool with its daemons, and what is seen of its nodes at every event. */
class History {
  readonly world: World;
  readonly fleet: PlayedFleet;
  readonly limit: number;
  readonly problems: string[] = [];
  readonly #bad = new Set<string>();
  readonly #stop = new AbortController();
  readonly #settled = new Set<string>();
  #made: number;
  readonly #crash: { left: number; lost: boolean };

  static async start(count: number, limit: number): Promise<History> {
    const crash = { left: Number.POSITIVE_INFINITY, lost: false };
    let world: World | undefined;
    const step = (before: boolean) => {
      if (!before && !crash.lost) return;
      if (before) crash.left -= 1;
      if (crash.left > -1 || before === crash.lost) return;
      crash.left = Number.POSITIVE_INFINITY;
      const dying = world;
      void dying?.crash().then(() => dying.start());
      throw new Error('the process ends here');
    };
    world = await startWorld({ onWrite: () => step(true), afterWrite: () => step(false) });
    await fillWorld(world.client, { count: 0, maxUnavailable: limit });
    const spec = { config: configOf('a'), kernelArguments: ['x'] };
    await world.client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
    const history = new History(world, limit, crash);
    for (let index = 0; index < count; index += 1) await history.join();
    await world.clock.advance(300_000);
    return history;
  }

  private constructor(world: World, limit: number, crash: { left: number; lost: boolean }) {
    [this.world, this.limit, this.#crash, this.#made] = [world, limit, crash, 0];
    const { client, clock } = world;
    this.fleet = new PlayedFleet(client, clock);
    const seen = createInformer<Node>(client, nodes, { clock, random: seededRandom(2), log: silentLogger });
    seen.onChange(({ type, object }) => {
      const { name } = object.metadata;
      if (type === 'deleted') this.#settled.delete(name);
      else if (isDone(object) && object.spec?.unschedulable !== true) this.#settled.add(name);
      this.#look(seen.store.list());
    });
    void seen.run(this.#stop.signal);
  }

  /** A node that was never Done is unavailable as it is: it is new. */
  #look(all: readonly Node[]): void {
    const own = all.filter(({ metadata }) => this.#settled.has(metadata.name));
    const busy = own.filter((node) => (!isDone(node) && !isFailing(node)) || node.spec?.unschedulable === true);
    const harmed = own.filter((node) => isDegraded(node) && this.#bad.has(annotationOf(node, DesiredConfig)));
    const say = (what: string, some: readonly Node[]) =>
      this.problems.push(`${what}: ${some.map(({ metadata }) => metadata.name).join(', ')} of ${this.limit}`);
    if (busy.length > this.limit) say('too many are unavailable', busy);
    if (harmed.length > this.limit) say('too many are harmed', harmed);
  }

  async join(): Promise<void> {
    const labels = { 'node-role.kubernetes.io/worker': '' };
    const name = `n${this.#made}`;
    this.#made += 1;
    await this.world.client.resource(nodes).create({ metadata: { name, labels }, spec: {} });
  }

  async node(index: number): Promise<Node | undefined> {
    const { items } = await this.world.client.resource(nodes).list();
    return items[index % Math.max(items.length, 1)];
  }

  async write(config: object): Promise<void> {
    const body = { spec: { config } };
    await this.world.client.resource(machineConfigs).patch('50-user', { type: 'merge', body });
  }

  pool = () => this.world.client.resource(machineConfigPools).get('worker');

  async pause(paused: boolean): Promise<void> {
    await this.world.client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec: { paused } } });
  }

  async ready(node: Node | undefined, ready: boolean): Promise<void> {
    if (!node) return;
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const options = { type: 'merge', body: { status: { conditions } } } as const;
    await this.world.client.resource(nodes).patch(node.metadata.name, options, { subresource: 'status' });
  }

  async act(one: Act): Promise<void> {
    const { client } = this.world;
    if (one.kind === 'change') return this.write(configOf(one.to));
    if (one.kind === 'break') {
      await this.write(configOf('x', '/etc/hostname/below'));
      await this.world.clock.advance(6_000);
      const target = (await this.pool()).spec?.configuration?.name;
      const rendered = target && (await client.resource(machineConfigs).get(target));
      if (rendered && JSON.stringify(rendered).includes('hostname/below')) this.#bad.add(target);
      return;
    }
    if (one.kind === 'pause') return this.pause(one.paused);
    if (one.kind === 'join') return this.join();
    if (one.kind === 'crash') {
      [this.#crash.left, this.#crash.lost] = [one.writes, one.lost];
      return;
    }
    const node = await this.node(one.node);
    if (one.kind === 'ready') return this.ready(node, one.ready);
    if (!node) return;
    if (one.kind === 'leave') {
      await client.resource(nodes).delete(node.metadata.name);
      return;
    }
    const host = this.fleet.host(node.metadata.name);
    [host.left, host.done] = [one.steps, one.done];
  }

  /** Whoever broke something mends it. */
  async mend(): Promise<void> {
    this.#crash.left = Number.POSITIVE_INFINITY;
    await this.write(configOf('good'));
    await this.pause(false);
    const { items } = await this.world.client.resource(nodes).list();
    for (const node of items) await this.ready(node, true);
    for (const name of this.fleet.hosts.keys()) this.fleet.restart(name);
    await this.world.clock.advance(1_800_000);
  }

  async versions(): Promise<readonly (string | undefined)[]> {
    const { client } = this.world;
    const all = [
      ...(await client.resource(nodes).list()).items,
      ...(await client.resource(machineConfigs).list()).items,
      await this.pool(),
    ];
    return all.map(({ metadata }) => metadata.resourceVersion);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.fleet.stop();
    await this.world.end();
  }
}

test('a pool never loses more than maxUnavailable nodes to us, a bad config harms no more, and undoing it heals all, whoever dies when', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.tuple(act, fc.constantFrom(500, 3_000, 10_000, 60_000)), { minLength: 1, maxLength: 10 }),
      async (count, limit, acts) => {
        const history = await History.start(count, limit);
        try {
          for (const [one, waits] of acts) {
            await history.act(one).catch((error: unknown) => {
              if (!isConflict(error)) throw error;
            });
            await history.world.clock.advance(waits);
          }
          await history.mend();
          const { spec, status } = await history.pool();
          const { items } = await history.world.client.resource(nodes).list();
          const target = spec?.configuration?.name;
          const there = items.map((node) => ({
            current: annotationOf(node, CurrentConfig),
            desired: annotationOf(node, DesiredConfig),
            state: annotationOf(node, State),
            cordoned: node.spec?.unschedulable === true,
          }));
          const good = { current: target, desired: target, state: 'Done', cordoned: false };
          expect(there).toEqual(items.map(() => good));
          expect(conditionOf(status?.conditions, 'Updated')?.status).toBe('True');
          expect(history.problems).toEqual([]);
          const before = await history.versions();
          history.world.writes.length = 0;
          await history.world.clock.advance(900_000);
          expect([history.world.writes, await history.versions()]).toEqual([[], before]);
        } finally {
          await history.end();
        }
      },
    ),
    runs(6),
  );
}, 600_000);
