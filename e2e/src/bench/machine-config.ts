import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createInformer,
  createRecorder,
  handlerTransport,
  type InformerRuntime,
  type KubeClient,
  type Node,
  nodes,
  realClock,
  seededRandom,
  silentLogger,
  sleep,
} from '@mcm/kube';
import {
  type ConfigContext,
  conditionOf,
  controllerConfigs,
  createConfigCaches,
  createDrainController,
  createPodCache,
  createRenderController,
  createTemplateController,
  createUpdateController,
  DaemonDriver,
  type DaemonHost,
  type DaemonLife,
  type DiskImage,
  type MachineConfig,
  MemoryDisk,
  machineConfigCrds,
  machineConfigPools,
  machineConfigs,
  NodeAnnotations,
  NodeDaemon,
  renderPool,
  wantedDisk,
} from '@mcm/machine-config';
import { atOnce } from './machines/at-once.ts';
import { atMost, type Figure, reported } from './machines/figure.ts';

const ROLE = { 'machineconfiguration.openshift.io/role': 'worker' };
const WORKER = 'node-role.kubernetes.io/worker';
const IDENTITY = { version: 'v1', hash: 'h1' };
const POOL = 1_000;
const IDLE = 5_000;
const IDLE_MS = 60_000;
const LIMIT_MS = 300_000;
const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

const configOf = (files: number, mark: string) => ({
  ignition: { version: '3.5.0' },
  storage: {
    files: Array.from({ length: files }, (_, index) => ({
      path: `/etc/bench/${mark}/${index}`,
      mode: 0o644,
      contents: { source: `data:,${mark}-${index}` },
    })),
  },
});

/** Other load on the computer affects the elapsed time, but not the CPU time. */
interface Spent {
  readonly cpuMs: number;
  readonly wallMs: number;
}

const API = { apiVersion: 'machineconfiguration.openshift.io/v1' } as const;
const metaOf = (name: string) => ({ name, uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' });

/** Measures two renderings with the same input: with an empty cache, and then with the filled cache. */
function* rendering(): Generator<Figure> {
  const inputs = () =>
    Array.from(
      { length: 50 },
      (_, index): MachineConfig => ({
        ...API,
        kind: 'MachineConfig',
        metadata: { ...metaOf(`${String(index).padStart(2, '0')}-bench`), labels: ROLE },
        spec: { config: configOf(200, String(index)) },
      }),
    );
  const pool = { ...API, kind: 'MachineConfigPool', metadata: metaOf('worker'), spec: {} } as const;
  const annotations = { 'machineconfiguration.openshift.io/generated-by-version': 'v1' };
  const controllerConfig = {
    ...API,
    kind: 'ControllerConfig' as const,
    metadata: { ...metaOf('machine-config-controller'), annotations },
    spec: {},
  };
  const measured = (configs: readonly MachineConfig[]): Spent => {
    const [began, before] = [performance.now(), process.threadCpuUsage()];
    renderPool({ pool, controllerConfig, configs, identity: IDENTITY });
    const { user, system } = process.threadCpuUsage(before);
    return { cpuMs: (user + system) / 1000, wallMs: performance.now() - began };
  };
  const figureOf = (what: string, { cpuMs, wallMs }: Spent): Figure =>
    atMost(
      `Render 50 MachineConfigs of 200 files: ${what}`,
      cpuMs,
      100,
      'ms',
      `CPU time; the render took ${wallMs.toFixed(0)} ms of real time`,
    );
  const best = (runs: readonly Spent[]): Spent => runs.reduce((one, other) => (other.cpuMs < one.cpuMs ? other : one));
  yield figureOf('first decision', measured(inputs()));
  yield figureOf('all objects are new, fastest of 5 runs', best([1, 2, 3, 4, 5].map(() => measured(inputs()))));
  const known = inputs();
  measured(known);
  yield figureOf(
    'one object has changed, fastest of 5 runs',
    best([1, 2, 3, 4, 5].map(() => measured([...known.slice(1), ...inputs().slice(0, 1)]))),
  );
}

const counting = (fetch: (request: Request) => Promise<Response>, counts: { writes: number }) =>
  handlerTransport((request) => {
    if (request.method !== 'GET') counts.writes += 1;
    return fetch(request);
  });

function imageOf(config: MachineConfig): DiskImage {
  const base64 = (content: Uint8Array) => Buffer.from(content).toString('base64');
  const entries = [...wantedDisk(config).entries].map(([path, entry]) => [
    ...[path, entry.kind === 'file' ? { ...entry, content: base64(entry.content) } : entry],
  ]);
  return Object.fromEntries(entries) as DiskImage;
}

function instantHost(image: DiskImage): DaemonHost {
  let [boots, line] = [1, ''];
  return {
    disk: new MemoryDisk(image),
    bootId: async () => String(boots),
    commandLine: async () => line,
    setCommandLine: async (wanted) => {
      line = wanted;
    },
    act: async () => undefined,
    reboot: async () => {
      boots += 1;
    },
  };
}

/** A cluster in this process: an API server, controllers and daemons. */
class Bench {
  readonly controllers = { writes: 0 };
  readonly daemons = { writes: 0 };
  readonly #stop = new AbortController();
  readonly client: KubeClient;
  firstImage: DiskImage = {};
  readonly #close: () => Promise<void>;

  static async start(): Promise<Bench> {
    const plane = await startControlPlane({ clock: realClock, crds: [...machineConfigCrds], controllers: false });
    return new Bench(
      (request) => plane.fetch(request),
      () => plane.close(),
    );
  }

  private constructor(fetch: (request: Request) => Promise<Response>, close: () => Promise<void>) {
    this.#close = close;
    const clock = realClock;
    this.client = createClient({ transport: handlerTransport(fetch), userAgent: 'bench', clock });
    const client = createClient({ transport: counting(fetch, this.controllers), userAgent: 'controllers', clock });
    const runtime = { clock, random: seededRandom(1), log: silentLogger };
    const context: ConfigContext = {
      client,
      ...runtime,
      identity: IDENTITY,
      caches: createConfigCaches(client, client, runtime),
      recorder: createRecorder({ client, component: 'bench', delayMs: 3_000, ...runtime }),
    };
    const podCache = createPodCache(client, runtime);
    const file = 'mode: 0644\npath: /etc/motd\ncontents:\n  inline: hello\n';
    const tree = new Map([['worker/00-worker/_base/files/motd.yaml', file]]);
    const controllers = [
      createTemplateController(context, { tree }),
      createRenderController(context),
      createUpdateController(context),
      createDrainController(context, { pods: podCache }),
    ];
    const { signal } = this.#stop;
    for (const cache of Object.values(context.caches))
      void (cache as { run(s: AbortSignal): Promise<void> }).run(signal);
    void podCache.run(signal);
    for (const controller of controllers) void controller.run(signal);
    this.#runDaemons(createClient({ transport: counting(fetch, this.daemons), userAgent: 'daemons', clock }), runtime);
  }

  /** Runs a daemon for each node. */
  #runDaemons(client: KubeClient, runtime: InformerRuntime): void {
    const cache = createInformer<Node>(client, nodes, runtime);
    const { signal } = this.#stop;
    const drivers = new Map<string, DaemonDriver>();
    const { clock, random, log } = runtime;
    const life: DaemonLife = {
      signal,
      run: (work) => void work().catch((error: unknown) => this.#failed(error)),
      after: (ms, work) => clock.setTimeout(() => !signal.aborted && work(), ms),
    };
    const start = (nodeName: string): DaemonDriver => {
      const node = { get: () => cache.store.get(nodeName), wrote: (written: Node) => cache.recordWrite(written) };
      const host = instantHost(this.firstImage);
      const daemon = new NodeDaemon({
        nodeName,
        client,
        node,
        host,
        clock,
        random,
        log,
        ended: () => signal.aborted,
      });
      const driver = new DaemonDriver(daemon, life, random, (error) => this.#failed(error));
      drivers.set(nodeName, driver);
      return driver;
    };
    cache.onChange(({ type, object: { metadata } }) => {
      if (type !== 'deleted') (drivers.get(metadata.name) ?? start(metadata.name)).consider();
    });
    void cache.run(signal);
  }

  #failed(error: unknown): void {
    if (!this.#stop.signal.aborted) process.stderr.write(`bench: a daemon: ${String(error)}\n`);
  }

  async fill(count: number): Promise<void> {
    const { client } = this;
    await client
      .resource(controllerConfigs)
      .create({ metadata: { name: 'machine-config-controller' }, spec: { platform: 'none' } });
    await client
      .resource(machineConfigs)
      .create({ metadata: { name: '50-a', labels: ROLE }, spec: { config: configOf(1, 'a') } });
    await client.resource(machineConfigPools).create({
      metadata: { name: 'worker' },
      spec: {
        machineConfigSelector: { matchLabels: ROLE },
        nodeSelector: { matchLabels: { [WORKER]: '' } },
        maxUnavailable: '10%',
      },
    });
    await this.until(async () => ((await this.pool()).spec?.configuration?.source ?? []).length === 2);
    const target = (await this.pool()).spec?.configuration?.name ?? '';
    this.firstImage = imageOf(await client.resource(machineConfigs).get(target));
    const annotations = { [CurrentConfig]: target, [DesiredConfig]: target, [State]: 'Done' };
    await atOnce(count, 32, async (index) => {
      const labels = { [WORKER]: '', 'topology.kubernetes.io/zone': `z${index % 3}` };
      await client.resource(nodes).create({ metadata: { name: `n${index}`, labels, annotations }, spec: {} });
    });
    await this.until(async () => {
      const { status } = await this.pool();
      return status?.updatedMachineCount === count && conditionOf(status.conditions, 'Updated')?.status === 'True';
    });
    await sleep(realClock, 5_000);
  }

  pool = () => this.client.resource(machineConfigPools).get('worker');

  async until(reached: () => Promise<boolean>): Promise<void> {
    const began = realClock.monotonic();
    while (!(await reached())) {
      if (realClock.monotonic() - began > LIMIT_MS)
        throw new Error('bench: the expected state was not reached before the timeout');
      await sleep(realClock, 100);
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#close();
  }
}

async function* rollout(): AsyncGenerator<Figure> {
  const bench = await Bench.start();
  try {
    await bench.fill(POOL);
    const before = (await bench.pool()).spec?.configuration?.name;
    bench.controllers.writes = 0;
    bench.daemons.writes = 0;
    const began = realClock.monotonic();
    const config = configOf(1, 'b');
    await bench.client.resource(machineConfigs).patch('50-a', { type: 'merge', body: { spec: { config } } });
    await bench.until(async () => {
      const { spec, status } = await bench.pool();
      const target = spec?.configuration?.name;
      return target !== before && status?.configuration?.name === target;
    });
    const seconds = (realClock.monotonic() - began) / 1_000;
    yield atMost(`Time to change a file on ${POOL} nodes with maxUnavailable 10 %`, seconds, 60, 's');
    yield atMost(
      '  write requests of the controllers per node, with the requests of the drain',
      bench.controllers.writes / POOL,
      6,
      'writes',
    );
    yield atMost(
      '  write requests of the controllers and daemons per node',
      (bench.controllers.writes + bench.daemons.writes) / POOL,
      12,
      'writes',
    );
  } finally {
    await bench.stop();
  }
}

async function* idle(): AsyncGenerator<Figure> {
  const bench = await Bench.start();
  try {
    await bench.fill(IDLE);
    bench.controllers.writes = 0;
    bench.daemons.writes = 0;
    const cpu = process.cpuUsage();
    await sleep(realClock, IDLE_MS);
    const { user, system } = process.cpuUsage(cpu);
    yield atMost(
      `Write requests for ${IDLE} idle nodes in a minute`,
      bench.controllers.writes + bench.daemons.writes,
      0,
      'writes',
    );
    yield atMost(
      '  CPU of the controllers, the API server and the daemons',
      ((user + system) / 1_000 / IDLE_MS) * 100,
      2,
      '%',
    );
    yield reported(
      '  memory of the process',
      process.memoryUsage().rss / 2 ** 20,
      'MB',
      'the process contains the API server',
    );
  } finally {
    await bench.stop();
  }
}

/** Measures rendering, a rollout, and a fleet without changes. */
export async function* machineConfigFigures(): AsyncGenerator<Figure> {
  const alive = setInterval(() => undefined, 1_000);
  try {
    yield* rendering();
    yield* rollout();
    yield* idle();
  } finally {
    clearInterval(alive);
  }
}
