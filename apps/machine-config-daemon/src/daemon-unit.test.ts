import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@mcm/control-plane';
import {
  type Clock,
  createClient,
  createInformer,
  createRecorder,
  handlerTransport,
  type Node,
  nodes,
  seededRandom,
  silentLogger,
  VirtualClock,
} from '@mcm/kube';
import {
  DEFAULT_POLICY,
  type Entry,
  machineConfigCrds,
  machineConfigs,
  NodeAnnotations,
  type NodeDisk,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { createDaemonUnit } from './daemon-unit.ts';
import { machineHost } from './machine-host.ts';
import { RootDisk } from './root-disk.ts';
import { rootFolder } from './root-folder.testing.ts';

/** Tests the loop of the daemon with changes of its Node and of its disk. */

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain, PostConfigAction } =
  NodeAnnotations;
const RETRIED_MS = 70_000;

interface Fault {
  left: number;
  /** Whether the last request before the kill still takes effect. */
  readonly done: boolean;
}

type Step = <T>(work: () => Promise<T>) => Promise<T>;

class Machine implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly root: string;
  readonly programs: string[] = [];
  boots = 1;
  room = Number.POSITIVE_INFINITY;
  broken: string | undefined;
  fault: Fault | undefined;
  died = 0;
  /** Resolves when the system has reported a change of the disk. */
  changed = Promise.withResolvers<void>();
  readonly #plane: Awaited<ReturnType<typeof startControlPlane>>;
  #stop = new AbortController();
  #running: readonly Promise<unknown>[] = [];

  static async start(): Promise<Machine> {
    const root = await rootFolder();
    const clock = new VirtualClock();
    const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
    const machine = new Machine(root, plane, clock);
    await mkdir(join(root, 'etc/kernel'), { recursive: true });
    await writeFile(join(root, 'etc/kernel/cmdline'), 'ro\n');
    await machine.admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
    for (const [name, text] of [
      ['one', '1'],
      ['two', '2'],
    ] as const) {
      await machine.config(name, { '/etc/a': text, [`/etc/${name}`]: name });
    }
    return machine;
  }

  private constructor(root: string, plane: Awaited<ReturnType<typeof startControlPlane>>, clock: VirtualClock) {
    this.root = root;
    this.#plane = plane;
    this.clock = clock;
  }

  get admin() {
    return createClient({ transport: handlerTransport(this.#plane.fetch), userAgent: 'admin', clock: this.clock });
  }

  config = (name: string, files: Readonly<Record<string, string>>, kernelArguments = [name]) =>
    this.admin.resource(machineConfigs).create({
      metadata: { name },
      spec: {
        kernelArguments,
        config: {
          ignition: { version: '3.5.0' },
          storage: {
            files: Object.entries(files).map(([path, text]) => ({
              path,
              overwrite: true,
              contents: { source: `data:,${encodeURIComponent(text)}` },
            })),
          },
        },
      },
    });

  tell = (annotations: Record<string, string | null>) =>
    this.admin.resource(nodes).patch('n', { type: 'merge', body: { metadata: { annotations } } });
  annotations = async () => (await this.admin.resource(nodes).get('n')).metadata.annotations ?? {};
  text = (path: string) => readFile(join(this.root, path), 'utf8');
  write = async (path: string, text: string): Promise<void> => {
    this.changed = Promise.withResolvers();
    await writeFile(join(this.root, path), text);
    await this.changed.promise;
  };

  async pass(ms = 5_000): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      await this.clock.advance(ms / 4);
      const { [DesiredDrain]: asked = '', [LastAppliedDrain]: answered = '' } = await this.annotations();
      if (asked !== answered) await this.tell({ [LastAppliedDrain]: asked });
    }
    await this.clock.advance(10);
  }

  /** Starts the process of the daemon. */
  run(): void {
    const stop = new AbortController();
    this.#stop = stop;
    /** A killed daemon gets no result of its last step, and starts no further step. */
    const alive = <T>(work: () => Promise<T>): Promise<T> =>
      stop.signal.aborted ? new Promise(() => undefined) : work();
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      const { fault } = this;
      if (!fault || stop.signal.aborted) return alive(work);
      fault.left -= 1;
      if (fault.left >= 0) return work();
      if (fault.done) await work().catch(() => undefined);
      this.died += 1;
      this.fault = undefined;
      stop.abort(new Error('the process dies'));
      return new Promise(() => undefined);
    };
    const transport = handlerTransport((request) =>
      request.method === 'GET' ? this.#plane.fetch(request) : step(() => this.#plane.fetch(request)),
    );
    const client = createClient({ transport, userAgent: 'daemon', clock: this.clock });
    const clock: Clock = {
      now: () => this.clock.now(),
      monotonic: () => this.clock.monotonic(),
      setTimeout: (work: () => void, ms: number) => {
        const timer = this.clock.setTimeout(work, ms);
        if (ms === 500) this.changed.resolve();
        return timer;
      },
    };
    const runtime = { clock, random: seededRandom(3), log: silentLogger };
    const informer = createInformer<Node>(client, nodes, { ...runtime, fieldSelector: 'metadata.name=n' });
    const recorder = createRecorder({ client, component: 'test', ...runtime });
    const unit = createDaemonUnit({
      nodeName: 'n',
      root: this.root,
      host: this.#host(alive, step),
      policy: DEFAULT_POLICY,
      informer,
      runtime,
      nodeClient: client,
      configClient: client,
      recorder,
    });
    this.#running = [informer.run(stop.signal), unit.run(stop.signal)];
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error('the process stops'));
    await Promise.allSettled(this.#running);
  }

  #host(alive: Step, step: Step) {
    const real = new RootDisk(this.root);
    const disk: NodeDisk = {
      read: (path) => real.read(path),
      owned: (found, wanted) => real.owned(found, wanted),
      put: (path, entry: Entry) =>
        alive(() => {
          this.room -= 1;
          return this.room < 0
            ? Promise.reject(new Error(`cannot write ${path}: the disk has no free space`))
            : real.put(path, entry);
        }),
      remove: (path) => alive(() => real.remove(path)),
    };
    const run = (argv: readonly string[]) =>
      step(async () => {
        if (this.broken !== undefined) throw new Error(this.broken);
        this.programs.push(argv.join(' '));
      });
    const host = machineHost({
      root: this.root,
      disk,
      bootIdFile: 'boot',
      readFile: async () => `boot-${this.boots}\n`,
      reboot: [],
      run,
    });
    const reboot = async (): Promise<void> => {
      await run(['reboot']);
      this.boots += 1;
    };
    return { ...host, reboot };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#plane.close();
    await rm(this.root, { recursive: true, force: true });
  }
}

const done = (name: string) => ({ [CurrentConfig]: name, [DesiredConfig]: name, [State]: 'Done' });

async function withOne(): Promise<Machine> {
  const machine = await Machine.start();
  machine.run();
  await machine.tell({ [DesiredConfig]: 'one' });
  await machine.pass();
  return machine;
}

test('the daemon applies the target with a drain and a reboot, or only with a reload if no pod is affected', async () => {
  await using machine = await withOne();
  expect(await machine.annotations()).toMatchObject({ ...done('one'), [LastAppliedDrain]: 'uncordon-one' });
  expect([await machine.text('etc/a'), await machine.text('etc/kernel/cmdline')]).toEqual(['1', 'ro one\n']);
  expect([machine.boots, machine.programs]).toEqual([2, ['reboot']]);
  const files = { '/etc/a': '1', '/etc/one': 'one', '/etc/containers/policy.json': '{}' };
  await machine.config('policy', files, ['one']);
  await machine.tell({ [DesiredConfig]: 'policy' });
  await machine.pass();
  expect(await machine.annotations()).toMatchObject({ ...done('policy'), [DesiredDrain]: 'uncordon-one' });
  expect([machine.boots, machine.programs]).toEqual([
    2,
    ['reboot', 'systemctl cat crio.service', 'systemctl reload crio.service'],
  ]);
});

test('a daemon that is killed at any request or program, before or after its effect, reaches the same state after a restart', async () => {
  await using machine = await withOne();
  let ended = false;
  // In each round, the fault occurs one step later, until the update ends before the fault.
  for (let left = 0; !ended; left += 1) {
    for (const carriedOut of [false, true]) {
      const name = carriedOut ? 'one' : 'two';
      const { died } = machine;
      machine.fault = { left, done: carriedOut };
      await machine.tell({ [DesiredConfig]: name });
      await machine.pass();
      machine.fault = undefined;
      await machine.end();
      machine.run();
      await machine.pass();
      expect(await machine.annotations(), `${left} ${carriedOut}`).toMatchObject(done(name));
      expect([await machine.text('etc/a'), await machine.text('etc/kernel/cmdline')]).toEqual([
        ...(name === 'two' ? ['2', 'ro two\n'] : ['1', 'ro one\n']),
      ]);
      expect(await machine.text(`etc/${name}`)).toBe(name);
      ended = machine.died === died;
    }
  }
  expect(machine.died).toBeGreaterThan(8);
});

test.each([0, 2, 4])(
  'a disk that is full after %i writes is reported, and with free space the update continues or is reverted automatically',
  async (room) => {
    await using machine = await withOne();
    // When the disk has free space again, the target changes to the old config, and then to the new config.
    for (const name of ['one', 'two']) {
      machine.room = room;
      await machine.tell({ [DesiredConfig]: 'two' });
      await machine.pass();
      expect(await machine.annotations()).toMatchObject({
        [CurrentConfig]: 'one',
        [State]: 'Degraded',
        [Reason]: expect.stringMatching(/^cannot write \S+: the disk has no free space$/),
      });
      expect(machine.boots).toBe(2);
      machine.room = Number.POSITIVE_INFINITY;
      await machine.tell({ [DesiredConfig]: name });
      await machine.pass(RETRIED_MS);
      expect(await machine.annotations()).toMatchObject({ ...done(name), [Reason]: '' });
      expect(await machine.text('etc/a')).toBe(name === 'two' ? '2' : '1');
    }
  },
);

test('a changed file is reported immediately and stops updates until it is repaired', async () => {
  await using machine = await withOne();
  await machine.write('etc/a', 'mine');
  await machine.pass();
  expect(await machine.annotations()).toMatchObject({
    [State]: 'Degraded',
    [CurrentConfig]: 'one',
    [Reason]: 'unexpected on-disk state validating against one: content mismatch for file "/etc/a"',
  });
  await machine.tell({ [DesiredConfig]: 'two' });
  await machine.pass();
  expect([await machine.text('etc/a'), (await machine.annotations())[CurrentConfig]]).toEqual(['mine', 'one']);
  await machine.write('etc/a', '1');
  await machine.pass();
  expect(await machine.annotations()).toMatchObject(done('two'));
});

test('a failed reboot is reported on the Node, and the update continues when a reboot is possible', async () => {
  await using machine = await withOne();
  machine.broken = 'systemctl: not found';
  await machine.tell({ [DesiredConfig]: 'two' });
  await machine.pass();
  expect(await machine.annotations()).toMatchObject({
    [State]: 'Degraded',
    [Reason]: 'cannot reboot the machine: systemctl: not found',
    [CurrentConfig]: 'one',
    [PostConfigAction]: 'Rebooting',
  });
  machine.broken = undefined;
  await machine.pass(RETRIED_MS);
  expect(await machine.annotations()).toMatchObject({ ...done('two'), [Reason]: '' });
  expect((await machine.annotations())[PostConfigAction]).toBeUndefined();
});

test('a config that cannot be written is reverted and reported, and with the old target the node is as before', async () => {
  await using machine = await withOne();
  await machine.config('bad', { '/etc/a': '9', '/etc/kernel/cmdline/x': 'x' });
  await machine.tell({ [DesiredConfig]: 'bad' });
  await machine.pass();
  expect(await machine.annotations()).toMatchObject({
    [CurrentConfig]: 'one',
    [State]: 'Degraded',
    [Reason]: 'cannot write /etc/kernel/cmdline/x: a parent of the path is not a directory',
  });
  expect(await machine.text('etc/a')).toBe('1');
  await machine.tell({ [DesiredConfig]: 'one' });
  await machine.pass(RETRIED_MS);
  expect(await machine.annotations()).toMatchObject({ ...done('one'), [LastAppliedDrain]: 'uncordon-one' });
});
