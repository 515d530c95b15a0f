import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { Program } from '@mcm/cli';
import {
  createClient,
  type KubeClient,
  loadKubeconfig,
  namespaces,
  realClock,
  sleep,
  type UndiciTransport,
  undiciTransport,
} from '@mcm/kube';
import { type Bundled, bundled, LOCAL_PROGRAMS, resolverOf } from '../../harness/bundled.ts';
import { cpuMs, rssMb } from '../../harness/process-usage.ts';
import { atOnce } from '../machines/at-once.ts';
import { atMost, type Figure, percentile, reported } from '../machines/figure.ts';
import { createCluster, LABEL, newDeployment } from './objects.ts';
import { PlaneHost } from './planes.ts';

const TOKEN = 'bench-token';
const IDLE_MS = 60_000;
const START_LIMIT_MS = 300_000;
const PER_HOST = 250;
const WAKES = 40;
const SETTLE_MS = 110_000;
export const QUIET_LEASES = '--fleet-quiet-lease-duration=90s';
const STUCK = 0;

const nameOf = (index: number): string => `c-${index}`;

const connectionsOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;

interface Served {
  readonly clusters: readonly { readonly state: string }[];
}

/** A fleet that one pair of processes serves. The fleet has a seed, and target clusters with Nodes. */
class FleetOfClusters {
  readonly #count: number;
  readonly #machines: number;
  readonly #flags: readonly string[];
  readonly #dir = mkdtempSync(join(tmpdir(), 'mcm-fleet-'));
  readonly #seed = new PlaneHost();
  readonly #hosts: PlaneHost[] = [];
  readonly #programs = new Map<string, Program>();
  readonly #addresses: string[] = [];
  #bundles: Bundled | undefined;
  #transport: UndiciTransport | undefined;
  #client: KubeClient | undefined;

  constructor(count: number, machinesEach: number, flags: readonly string[]) {
    this.#count = count;
    this.#machines = machinesEach;
    this.#flags = flags;
  }

  get #admin(): KubeClient {
    if (this.#client === undefined) throw new Error('the seed has not started');
    return this.#client;
  }

  async start(): Promise<void> {
    this.#bundles = await bundled(LOCAL_PROGRAMS);
    const file = join(this.#dir, 'seed');
    writeFileSync(file, (await this.#seed.ask({ do: 'seed' })).kubeconfigs?.[0] ?? '', { mode: 0o600 });
    this.#transport = undiciTransport(await loadKubeconfig(file));
    this.#client = createClient({ transport: this.#transport, userAgent: 'bench', clock: realClock });
    await this.#admin.resource(namespaces).create({ metadata: { name: 'fleet' } });
    const endpoint = await this.#start('local-cloud', '@mcm/provider-local/cloud/main', ['--memory', '--port=0'], {
      MCM_LOCAL_CLOUD_TOKEN: TOKEN,
    });
    const kubeconfigs = await this.#targets();
    await atOnce(this.#count, 8, async (index) => {
      const kubeconfig = kubeconfigs[index] ?? '';
      const cluster = { name: nameOf(index), kubeconfig, machines: this.#machines, endpoint, token: TOKEN };
      await createCluster(this.#admin, cluster);
    });
    const flags = [
      `--control-kubeconfig=${file}`,
      '--namespace=fleet',
      `--fleet-namespaces=${LABEL}`,
      '--fleet-replica=0',
      '--port=0',
      '--log-level=warn',
      ...this.#flags,
    ];
    this.#addresses.push(
      await this.#start('machine-controller-manager', '@mcm/machine-controller-manager/main', flags),
      await this.#start('machine-controller-local', '@mcm/provider-local/main', flags),
    );
  }

  async #targets(): Promise<readonly string[]> {
    const kubeconfigs: string[] = [];
    while (kubeconfigs.length < this.#count) {
      const host = new PlaneHost();
      this.#hosts.push(host);
      const count = Math.min(PER_HOST, this.#count - kubeconfigs.length);
      kubeconfigs.push(...((await host.ask({ do: 'targets', count, machines: this.#machines })).kubeconfigs ?? []));
    }
    return kubeconfigs;
  }

  async #start(name: string, module: string, args: readonly string[], env: Record<string, string> = {}) {
    const { NODE_OPTIONS = '' } = process.env;
    const resolve = this.#bundles && resolverOf(this.#bundles);
    const program = new Program(
      {
        name,
        module: resolve?.(module) ?? module,
        args,
        env: { ...env, NODE_OPTIONS },
        logFile: join(this.#dir, `${name}.log`),
      },
      { clock: realClock, onChange: () => undefined },
    );
    this.#programs.set(name, program);
    return program.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.stop()));
    await this.#transport?.close();
    for (const host of [this.#seed, ...this.#hosts]) host.stop();
    this.#bundles?.remove();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  get pids(): ReadonlyMap<string, number> {
    const controllers = ['machine-controller-manager', 'machine-controller-local'];
    return new Map(controllers.map((name) => [name, this.#programs.get(name)?.pid ?? 0]));
  }

  async served(): Promise<number> {
    const start = performance.now();
    for (;;) {
      const states = await Promise.all(
        this.#addresses.map(async (address) => (await (await fetch(`${address}/debug/fleet`)).json()) as Served),
      );
      const waits = states.flatMap(({ clusters }) => clusters).filter(({ state }) => state !== 'serving').length;
      const known = states.every(({ clusters }) => clusters.length === this.#count);
      if (known && waits === 0) return (performance.now() - start) / 1000;
      if (performance.now() - start > START_LIMIT_MS) throw new Error(`${waits} clusters wait for a replica`);
      await sleep(realClock, 500);
    }
  }

  async counts(): Promise<ReadonlyMap<string, number>> {
    return new Map(Object.entries((await this.#seed.ask({ do: 'counts' })).counts ?? {}));
  }

  stick(stuck: boolean): Promise<unknown> {
    return this.#hosts[0]?.ask({ do: 'stick', index: STUCK, stuck }) ?? Promise.resolve();
  }

  /** Creates a deployment in a quiet cluster, and resolves with the milliseconds until its machine has a VM. */
  async wake(cluster: string, name: string): Promise<number> {
    const resource = this.#admin.resource<Machine>(machines, cluster);
    const { resourceVersion } = (await resource.list({ limit: 1 })).metadata;
    const stop = new AbortController();
    const start = performance.now();
    const events = resource.watch({ resourceVersion, labelSelector: `name=${name}`, signal: stop.signal });
    await this.#admin.resource<MachineDeployment>(machineDeployments, cluster).create(newDeployment(cluster, name));
    for await (const { type, object } of events)
      if (type !== 'BOOKMARK' && type !== 'DELETED' && (object as Machine).spec.providerID) break;
    const ms = performance.now() - start;
    stop.abort(new Error('done'));
    return ms;
  }

  async wakes(name: string): Promise<number> {
    const all: number[] = [];
    for (let index = 0; index < WAKES; index += 1)
      all.push(await this.wake(nameOf(1 + (index % (this.#count - 1))), `${name}-${index}`));
    return percentile(all, 0.99);
  }
}

async function* idleFigures(fleet: FleetOfClusters, size: string): AsyncGenerator<Figure> {
  await fleet.counts();
  const before = new Map([...fleet.pids].map(([name, pid]) => [name, cpuMs(pid)]));
  await sleep(realClock, IDLE_MS);
  const counts = await fleet.counts();
  for (const [name, pid] of fleet.pids) {
    const share = ((cpuMs(pid) - (before.get(name) ?? 0)) / IDLE_MS) * 100;
    yield atMost(`${size}: RSS of ${name}`, rssMb(pid), 1_500, 'MB', `${connectionsOf(pid)} sockets`);
    yield atMost(`${size}: CPU of the idle ${name}`, share, 5, '% of a core');
  }
  const writes = [...counts].filter(([what]) => /^machine-controller\S* (create|update|patch|delete)/.test(what));
  const others = writes.filter(([what]) => !what.endsWith(' leases'));
  const total = (some: readonly (readonly [string, number])[]): number => some.reduce((sum, [, n]) => sum + n, 0);
  yield atMost(
    `${size}: write requests of idle clusters, except Leases`,
    total(others),
    0,
    'writes',
    others.slice(0, 3).join('; '),
  );
  yield reported(`${size}: renewed Leases`, total(writes) - total(others), 'a minute');
  const reads = [...counts].filter(([what]) => /^machine-controller\S* (get|list)/.test(what));
  yield reported(`${size}: read requests to the seed`, total(reads), 'a minute', reads.slice(0, 4).join('; '));
}

/** Measures a pair of processes that serves many clusters. */
export async function* fleetModeFigures(count: number, machinesEach: number, flags: readonly string[]) {
  const fleet = new FleetOfClusters(count, machinesEach, flags);
  const size = `${count} clusters × ${machinesEach} machines`;
  try {
    await fleet.start();
    yield reported(
      `${size}: time until replicas serve all clusters`,
      await fleet.served(),
      's',
      'measured from the start of the processes',
    );
    await sleep(realClock, SETTLE_MS);
    yield* idleFigures(fleet, size);
    const alone = await fleet.wakes('alone');
    yield atMost(
      `${size}: time until the first VM of a hibernated cluster exists, 99th percentile`,
      alone / 1000,
      2,
      's',
    );
    await fleet.stick(true);
    await sleep(realClock, 10_000);
    const stuck = await fleet.wakes('beside');
    yield atMost(
      `${size}: additional time until the first VM exists while another cluster is stuck`,
      (stuck / alone - 1) * 100,
      10,
      '% more',
    );
    await fleet.stick(false);
  } finally {
    await fleet.stop();
  }
}
