import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { pause } from '../clock/clock.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { KubeClient } from '../contract/client.ts';
import { isNotFound } from '../contract/errors.ts';
import type { Transport, TransportRequest } from '../contract/transport.ts';
import type { ClusterStatus } from '../fleet/cluster-state.ts';
import type { RegionReach } from '../fleet/regions.ts';
import { createInformer } from '../informer/create-informer.ts';
import type { UndiciTransport, UndiciTransportOptions } from '../transports/undici.ts';
import { configMaps, namespaces, secrets } from '../types/core.ts';
import { type Lease, leases } from '../types/groups.ts';
import type { BinaryDefinition } from './definition.ts';
import { runBinary } from './run-binary.ts';

export interface Arrived {
  readonly process: string;
  readonly server: string;
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

interface Plane {
  readonly transport: Transport;
  close(): Promise<void>;
}

interface PlaneOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly controllers: readonly string[];
}

export const LEASE = 'demo';
export const FLEET_FINALIZER = 'example.com/fleet-demo';
const WORK_FINALIZER = 'example.com/work';
const WORK = 'work';
export const BUSY = 'busy';
const SEED = 'seed';
const CACHED = 'cached';
const LATE_MS = 20_000;
/** The interval between two writes of a test unit; shorter intervals would use most of the time of the tests. */
export const BEAT_MS = 2_000;

/** A test binary that writes to both clusters every second. */
const demo: BinaryDefinition<Record<never, never>> = {
  name: LEASE,
  version: '1.0.0',
  description: 'A demo.',
  defaults: { port: 10_258, concurrency: 10, controllers: [] },
  flags: {},
  metricsPrefix: 'mcm_',
  fleet: {
    without: [],
    deletion: { finalizer: FLEET_FINALIZER, content: [{ definition: configMaps, finalizer: WORK_FINALIZER }] },
    hibernation: {
      content: [{ definition: secrets, busy: ({ metadata }) => metadata.name === BUSY }],
    },
  },
  units: ({ control, target, clock, namespace, runtime }) => [
    {
      name: 'beat',
      needs: [],
      informers: namespace.startsWith(CACHED) ? [createInformer(control, configMaps, { ...runtime, namespace })] : [],
      quiet: () => true,
      run: async (signal) => {
        const write = async (client: KubeClient | undefined, place: string, beats: string): Promise<void> => {
          const metadata = { name: 'beat' };
          const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { beats } };
          const patch = { type: 'apply', body, fieldManager: 'demo', force: true } as const;
          await client?.resource(configMaps, place).patch('beat', patch);
        };
        const both = (beats: string) =>
          Promise.allSettled([write(control, namespace, beats), write(target, 'default', beats)]);
        for (let beats = 1; !signal.aborted; beats++) {
          await both(String(beats));
          await pause(clock, BEAT_MS, signal);
        }
        clock.setTimeout(() => void both('late'), LATE_MS);
      },
    },
  ],
};

const orAbsent = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
  return undefined;
};

export interface Replica {
  readonly name: string;
  stop(): Promise<number>;
  kill(): void;
  readonly exit: Promise<number>;
  readonly status: () => Promise<readonly ClusterStatus[]>;
  readonly states: () => Promise<readonly string[]>;
  readonly regions: () => Promise<readonly RegionReach[]>;
  readonly scrape: () => Promise<string>;
  readonly errors: readonly string[];
}

/** Runs replicas of a fleet in this process, with a seed, target clusters and a virtual clock. */
export class FleetRig {
  readonly clock = new VirtualClock();
  readonly arrived: Arrived[] = [];
  readonly unfenced: string[] = [];
  readonly #start: (options: PlaneOptions) => Promise<Plane>;
  readonly #planes = new Map<string, Plane>();
  readonly #replicas: Replica[] = [];
  readonly #hanging = new Set<string>();
  readonly #cut = new Map<string, 'hangs' | 'is refused'>();
  readonly redirected = new Map<string, string>();
  refuse: (request: TransportRequest) => boolean = () => false;
  readonly #clusterOf = new Map<string, string>();
  readonly #regions: ReadonlyMap<string, string>;
  #folder = '';

  private constructor(start: (options: PlaneOptions) => Promise<Plane>, regions: Readonly<Record<string, string>>) {
    this.#start = start;
    this.#regions = new Map(Object.entries(regions));
  }

  static async create(
    start: (options: PlaneOptions) => Promise<Plane>,
    clusters: readonly string[],
    regions: Readonly<Record<string, string>> = {},
  ): Promise<FleetRig> {
    const rig = new FleetRig(start, regions);
    rig.#folder = await mkdtemp(join(tmpdir(), 'fleet '));
    await writeFile(join(rig.#folder, 'home'), rig.kubeconfig(SEED));
    for (const name of [SEED, ...clusters]) await rig.addPlane(name);
    for (const name of clusters) await rig.addCluster(name);
    return rig;
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
    for (const plane of this.#planes.values()) await plane.close();
    await rm(this.#folder, { recursive: true });
  }

  async addPlane(name: string): Promise<void> {
    const random = seededRandom(this.#planes.size + 1);
    const controllers = name === SEED ? ['namespace'] : [];
    this.#planes.set(name, await this.#start({ clock: this.clock, random: () => random.next(), controllers }));
  }

  admin(server: string): KubeClient {
    const plane = this.#planes.get(server);
    if (plane === undefined) throw new Error(`no server ${server}`);
    return createClient({
      transport: plane.transport,
      userAgent: 'test',
      clock: this.clock,
    });
  }

  /** Returns a kubeconfig whose token identifies the server. */
  kubeconfig(server: string, token = `token-of-${server}`): string {
    return JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
      clusters: [{ name: 'c', cluster: { server: `https://${server}.example` } }],
      users: [{ name: 'u', user: { token } }],
    });
  }

  async addCluster(name: string, kubeconfig = this.kubeconfig(name)): Promise<void> {
    const seed = this.admin(SEED);
    await seed
      .resource(namespaces)
      .create({ metadata: { name, labels: { fleet: 'yes', ...this.#regionLabels(name) } } });
    await seed.resource(secrets, name).create({ metadata: { name: 'fleet-kubeconfig' }, stringData: { kubeconfig } });
  }

  #regionLabels(name: string): Readonly<Record<string, string>> {
    const region = this.#regions.get(name);
    return region === undefined ? {} : { 'topology.kubernetes.io/region': region };
  }

  async addWork(cluster: string): Promise<void> {
    const metadata = { name: WORK, finalizers: [WORK_FINALIZER] };
    await this.admin(SEED).resource(configMaps, cluster).create({ metadata });
  }

  async endWork(cluster: string): Promise<void> {
    const body = { metadata: { finalizers: null } };
    await this.admin(SEED).resource(configMaps, cluster).patch(WORK, { type: 'merge', body });
  }

  async changeKubeconfig(name: string, kubeconfig: string): Promise<void> {
    const server = /https:..([a-z0-9]+)\.example/.exec(kubeconfig)?.[1];
    if (server !== undefined) this.#clusterOf.set(server, name);
    const body = { stringData: { kubeconfig } };
    await this.admin(SEED).resource(secrets, name).patch('fleet-kubeconfig', { type: 'merge', body });
  }

  hang(server: string): void {
    this.#hanging.add(server);
  }

  cut(process: string, server: string, how: 'hangs' | 'is refused'): void {
    this.#cut.set(`${process} ${server}`, how);
  }

  redirect(process: string, server: string, other: string): void {
    this.#cut.delete(`${process} ${server}`);
    this.redirected.set(`${process} ${server}`, other);
  }

  heal(server: string): void {
    this.#hanging.delete(server);
    for (const pairs of [this.#cut, this.redirected])
      for (const pair of pairs.keys()) if (pair.endsWith(` ${server}`)) pairs.delete(pair);
  }

  replica(name: string, flags: readonly string[] = []): Promise<Replica> {
    return this.replicaWith(name, ['--fleet-namespaces=fleet=yes', ...flags]);
  }

  replicaWith(name: string, flags: readonly string[]): Promise<Replica> {
    return this.#run(name, [`--fleet-replica=${name}`, '--namespace=default', ...flags]);
  }

  async single(name: string, cluster: string): Promise<Replica> {
    const target = join(this.#folder, `${name}-target`);
    await writeFile(target, this.kubeconfig(cluster));
    return this.#run(name, [`--target-kubeconfig=${target}`, `--namespace=${cluster}`]);
  }

  get folder(): string {
    return this.#folder;
  }

  async writeFolder(folder: string, servers: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(folder);
    for (const [name, server] of Object.entries(servers))
      await writeFile(join(folder, `${name}.kubeconfig`), this.kubeconfig(server));
  }

  replicaOfFolder(name: string, folder: string, flags: readonly string[] = []): Promise<Replica> {
    return this.replicaWith(name, [`--fleet-folder=${folder}`, ...flags]);
  }

  async #run(name: string, flags: readonly string[]): Promise<Replica> {
    const ready = Promise.withResolvers<string>();
    const errors: string[] = [];
    let dead = false;
    let stop: ((reason: string) => void) | undefined;
    const exit = runBinary(demo, {
      argv: [
        '--port=0',
        '--bind-address=127.0.0.1',
        '--log-level=silent',
        `--control-kubeconfig=${join(this.#folder, 'home')}`,
        ...flags,
      ],
      env: {},
      clock: this.clock,
      random: seededRandom(7),
      identity: name,
      dial: (options) => this.#dial(name, options, () => dead),
      print: (line) => line.startsWith('ready ') && ready.resolve(line.slice('ready '.length)),
      printError: (line) => errors.push(line),
      onStopRequest: (callback) => {
        stop = callback;
      },
      exit: () => undefined,
    });
    const failed = exit.then((code) => Promise.reject(new Error(`exit ${code}: ${errors.join()}`)));
    failed.catch(() => undefined); // After the process is ready, the rig ignores a rejection of the promise.
    const address = await Promise.race([ready.promise, failed]);
    const read = async (path: string): Promise<string> => (await fetch(address + path)).text();
    const status = async (): Promise<readonly ClusterStatus[]> => JSON.parse(await read('/debug/fleet')).clusters;
    const replica: Replica = {
      name,
      stop: async () => {
        stop?.('SIGTERM');
        let ended = false;
        void exit.then(() => {
          ended = true;
        });
        while (!ended) await this.clock.advance(500);
        return exit;
      },
      kill: () => {
        dead = true;
      },
      exit,
      status,
      states: async () => (await status()).map(({ cluster, state }) => `${cluster} ${state}`),
      regions: async () => JSON.parse(await read('/debug/fleet')).regions,
      scrape: () => read('/metrics'),
      errors,
    };
    this.#replicas.push(replica);
    return replica;
  }

  #dial(process: string, options: UndiciTransportOptions, dead: () => boolean): UndiciTransport {
    const server = new URL(options.server).hostname.replace('.example', '');
    const transport = async (request: TransportRequest) => {
      const cut = this.#cut.get(`${process} ${server}`);
      if (dead() || cut === 'is refused') throw new Error('ECONNREFUSED');
      const authorization = await options.authorization?.();
      this.arrived.push({ process, server, method: request.method, path: request.path, authorization });
      if (this.#hanging.has(server) || cut === 'hangs')
        return new Promise<never>((_, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      const place = this.redirected.get(`${process} ${server}`) ?? this.redirected.get(server) ?? server;
      const plane = this.#planes.get(place);
      if (plane === undefined) throw new Error('ENOTFOUND');
      if (this.refuse(request))
        return Response.json({ kind: 'Status', code: 403, reason: 'Forbidden' }, { status: 403 });
      if (request.path.includes('/configmaps/')) await this.#checkFence(process, server, request);
      return plane.transport(request);
    };
    return Object.assign(transport, { close: async () => undefined });
  }

  async #checkFence(process: string, server: string, { method, path }: TransportRequest): Promise<void> {
    const named = /namespaces\/([^/]+)/.exec(path)?.[1] ?? '';
    const cluster = server === SEED ? named : (this.#clusterOf.get(server) ?? server);
    const inSeed = await this.admin(SEED).resource(leases, cluster).get(LEASE).catch(orAbsent);
    const lease = inSeed ?? (await this.admin(server).resource(leases, 'default').get(LEASE).catch(orAbsent));
    const holder = lease?.spec?.holderIdentity ?? '';
    if (holder.split('.')[0] !== process)
      this.unfenced.push(`${process} sent ${method} ${server} ${path} while "${holder}" held the Lease`);
  }

  async holder(cluster: string): Promise<string> {
    const lease = await this.admin(SEED).resource(leases, cluster).get(LEASE).catch(orAbsent);
    return (lease?.spec?.holderIdentity ?? '').split('.')[0] ?? '';
  }

  holders(clusters: readonly string[]): Promise<readonly string[]> {
    return Promise.all(clusters.map((cluster) => this.holder(cluster)));
  }

  lease(cluster: string): Promise<Lease> {
    return this.admin(SEED).resource(leases, cluster).get(LEASE);
  }

  async beats(server: string): Promise<number | undefined> {
    const map = await this.admin(server).resource(configMaps, 'default').get('beat').catch(orAbsent);
    return map?.data === undefined ? undefined : Number(map.data.beats);
  }
}
