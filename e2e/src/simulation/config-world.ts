import { machineDeployments, machineSets } from '@mcm/api';
import { createClient, createRecorder, type Node, nodes, seededRandom, silentLogger, UnitRunner } from '@mcm/kube';
import {
  ConfigLabels,
  controllerConfigs,
  encodeDataUrl,
  type MachineConfigPool,
  machineConfigCrds,
  machineConfigPools,
  machineConfigs,
} from '@mcm/machine-config';
import { createConfigControllers } from '@mcm/machine-config-controller';
import type { KubeletBehaviour } from '@mcm/provider-local';
import { Network } from './network.ts';
import { type Death, Life } from './process.ts';
import { NAMESPACE, World, type WorldOptions } from './world.ts';

const TREE = new Map([
  ['worker/00-worker/_base/files/motd.yaml', 'mode: 0644\npath: /etc/motd\ncontents:\n  inline: hello\n'],
]);

/** The kinds of an Ignition file. */
export const fileOf = (path: string, text: string) => ({
  ...{ path, overwrite: true, contents: { source: encodeDataUrl(text) } },
});

/** What a world of machine configs may be. */
export interface ConfigWorldOptions extends WorldOptions {
  readonly kubelets?: KubeletBehaviour;
  /** From so many degraded nodes on the controller halts. */
  readonly haltDegraded?: number;
}

/** Machines and what is on them: MCM, the machine-config-controller, and machines that play both. */
export class ConfigWorld {
  readonly world: World;
  /** The wire between the machine-config-controller and the API server. */
  readonly network: Network;
  readonly #options: ConfigWorldOptions;
  #stop = new AbortController();
  #life: Life | undefined;
  #death: Death | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  static async start(pool: MachineConfigPool['spec'], options: ConfigWorldOptions = {}): Promise<ConfigWorld> {
    const { kubelets, haltDegraded: _, ...others } = options;
    const world = await World.start({
      ...others,
      crds: machineConfigCrds as unknown as NonNullable<WorldOptions['crds']>,
      kubelets: { configDaemon: true, ...kubelets },
    });
    const { admin } = world;
    await admin.resource(controllerConfigs).create({
      ...{ metadata: { name: 'machine-config-controller' }, spec: { platform: 'none' } },
    });
    await admin.resource(machineConfigs).create({
      metadata: { name: '50-user', labels: { [ConfigLabels.Role]: 'worker' } },
      spec: { config: { ignition: { version: '3.5.0' }, storage: { files: [fileOf('/etc/a', 'one')] } } },
    });
    const config = new ConfigWorld(world, options);
    await config.createPool('workers', pool ?? {});
    return config;
  }

  private constructor(world: World, options: ConfigWorldOptions) {
    [this.world, this.#options] = [world, options];
    const { seed = 1, profile } = options;
    this.network = new Network({
      ...{ clock: world.clock, seed: seed + 7, profile },
      random: seededRandom(seed + 7),
      kill: () => this.kill(),
      note: (text) => world.witness.note('act', text),
    });
    this.#startController();
  }

  /** A pool that has what the workers have. */
  async createPool(name: string, spec: object): Promise<void> {
    await this.world.admin.resource(machineConfigPools).create({
      metadata: { name },
      spec: { machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: 'worker' } }, ...spec },
    });
  }

  #startController(): void {
    const death = this.#death;
    this.#death = undefined;
    const { world } = this;
    const stop = new AbortController();
    const clock = this.network.clock('manager', world.clock, stop.signal);
    const life = new Life(death, () => {
      stop.abort(new Error('killed'));
      world.clock.setTimeout(() => {
        if (!this.#closed) this.#startController();
      }, 1_000);
    });
    [this.#stop, this.#life] = [stop, life];
    const transport = life.wrap(this.network.wire('manager', world.transport(), stop.signal));
    const client = createClient({ transport, userAgent: 'machine-config-controller', clock });
    const runtime = { clock, random: seededRandom(3), log: silentLogger };
    const recorder = createRecorder({ client, component: 'test', ...runtime });
    const { haltDegraded } = this.#options;
    const { units } = createConfigControllers(
      {
        ...{ control: client, target: client, recorder, nodeRecorder: recorder, runtime, tree: TREE },
        identity: { version: 'v1', hash: 'h1' },
      },
      { machinePools: true, ...(haltDegraded !== undefined && { haltDegraded }) },
    );
    // What a process does that was killed, nobody hears.
    this.#running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  }

  /** Ends the machine-config-controller as SIGKILL does; it is started again. */
  kill(): void {
    if (this.#life?.dead) return;
    this.world.witness.note('act', 'machine-config-controller is killed');
    this.#life?.kill();
  }

  /** It dies now, and at a request of its next life. */
  killTwice(death: Death): void {
    this.#death = death;
    this.kill();
  }

  pool = (): Promise<MachineConfigPool> => this.world.admin.resource(machineConfigPools).get('workers');
  nodes = async (): Promise<readonly Node[]> => (await this.world.admin.resource(nodes).list()).items;
  sets = async () => (await this.world.admin.resource(machineSets, NAMESPACE).list()).items;
  deployment = () => this.world.admin.resource(machineDeployments, NAMESPACE).get('workers');

  /** A user changes what is on the machines. */
  async change(storage: object): Promise<void> {
    const config = { ignition: { version: '3.5.0' }, storage };
    await this.world.admin.resource(machineConfigs).patch('50-user', { type: 'merge', body: { spec: { config } } });
  }

  /** Until the pool has this many nodes, all at one target that has the user's MachineConfig, and says so. */
  async untilUpdated(count: number, target?: (name: string) => boolean): Promise<string> {
    await this.world.until(async () => {
      const { spec, status } = await this.pool();
      const name = spec?.configuration?.name ?? '';
      const updated = status?.conditions?.find(({ type }) => type === 'Updated')?.status === 'True';
      const current = status?.configuration?.name === name && status.updatedMachineCount === count;
      return updated && current && status.machineCount === count && (target?.(name) ?? true);
    });
    return (await this.pool()).spec?.configuration?.name ?? '';
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop.abort();
    if (this.#life?.dead !== true) await this.#running;
    await this.world.close();
  }
}
