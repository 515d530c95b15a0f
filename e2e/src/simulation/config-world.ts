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
import { NAMESPACE, World, type WorldOptions } from './world.ts';

const TREE = new Map([
  ['worker/00-worker/_base/files/motd.yaml', 'mode: 0644\npath: /etc/motd\ncontents:\n  inline: hello\n'],
]);

/** The kinds of an Ignition file. */
export const fileOf = (path: string, text: string) => ({
  ...{ path, overwrite: true, contents: { source: encodeDataUrl(text) } },
});

/** Machines and what is on them: MCM, the machine-config-controller, and machines that play both. */
export class ConfigWorld {
  readonly world: World;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  static async start(
    pool: MachineConfigPool['spec'],
    { kubelets, ...options }: WorldOptions & { kubelets?: KubeletBehaviour } = {},
  ): Promise<ConfigWorld> {
    const world = await World.start({
      ...options,
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
    await admin.resource(machineConfigPools).create({
      metadata: { name: 'workers' },
      spec: { machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: 'worker' } }, ...pool },
    });
    return new ConfigWorld(world);
  }

  private constructor(world: World) {
    this.world = world;
    const { clock } = world;
    const client = createClient({ transport: world.transport(), userAgent: 'machine-config-controller', clock });
    const runtime = { clock, random: seededRandom(3), log: silentLogger };
    const recorder = createRecorder({ client, component: 'test', ...runtime });
    const { units } = createConfigControllers(
      {
        ...{ control: client, target: client, recorder, nodeRecorder: recorder, runtime, tree: TREE },
        identity: { version: 'v1', hash: 'h1' },
      },
      { machinePools: true },
    );
    this.#running = new UnitRunner({ units, ...runtime }).run(this.#stop.signal);
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
    this.#stop.abort();
    await this.#running;
    await this.world.close();
  }
}
