import { machineDeployments, machineSets } from '@mcm/api';
import { type Node, nodes, seededRandom } from '@mcm/kube';
import {
  ConfigLabels,
  controllerConfigs,
  encodeDataUrl,
  type MachineConfigPool,
  machineConfigCrds,
  machineConfigPools,
  machineConfigs,
} from '@mcm/machine-config';
import type { KubeletBehaviour } from '@mcm/provider-local';
import { Network } from '../network/network.ts';
import { ConfigControllers, type ConfigControllersOptions } from './config-controllers.ts';
import { NAMESPACE, World, type WorldOptions } from './world.ts';

/** Returns the section `storage` of an Ignition config, with one file. */
export const fileOf = (path: string, text: string) => ({
  path,
  overwrite: true,
  contents: { source: encodeDataUrl(text) },
});

const GATHER_MS = 1_000;
const DECIDED_BY = ['nodes', 'machines', 'machinesets', 'machinedeployments', 'machineconfigpools', 'machineconfigs'];

export interface ConfigWorldOptions extends WorldOptions {
  readonly kubelets?: KubeletBehaviour;
  readonly configControllers?: ConfigControllersOptions;
}

export class ConfigWorld {
  readonly world: World;
  readonly network: Network;
  readonly controllers: ConfigControllers;

  static async start(pool: MachineConfigPool['spec'], options: ConfigWorldOptions = {}): Promise<ConfigWorld> {
    const { kubelets, configControllers: _, ...others } = options;
    const world = await World.start({
      ...others,
      crds: machineConfigCrds as NonNullable<WorldOptions['crds']>,
      kubelets: { configDaemon: true, ...kubelets },
    });
    const { admin } = world;
    await admin.resource(controllerConfigs).create({
      metadata: { name: 'machine-config-controller' },
      spec: { platform: 'none' },
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
    this.world = world;
    const { seed = 1, profile, configControllers = {} } = options;
    const network: Network = new Network({
      clock: world.clock,
      seed: seed + 7,
      profile,
      random: seededRandom(seed + 7),
      kill: () => this.controllers.kill(),
      note: (text) => world.reporter.note('act', text),
      compact: () => world.compact(),
    });
    this.network = network;
    const { clock, reporter } = world;
    this.controllers = new ConfigControllers(
      { clock, reporter, network, transport: () => world.transport() },
      configControllers,
    );
  }

  lagMs(): number {
    return GATHER_MS + this.network.lagMs('manager', ...DECIDED_BY);
  }

  async createPool(name: string, spec: object): Promise<void> {
    await this.world.admin.resource(machineConfigPools).create({
      metadata: { name },
      spec: { machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: 'worker' } }, ...spec },
    });
  }

  pool = (): Promise<MachineConfigPool> => this.world.admin.resource(machineConfigPools).get('workers');
  nodes = async (): Promise<readonly Node[]> => (await this.world.admin.resource(nodes).list()).items;
  sets = async () => (await this.world.admin.resource(machineSets, NAMESPACE).list()).items;
  deployment = () => this.world.admin.resource(machineDeployments, NAMESPACE).get('workers');

  async change(storage: object): Promise<void> {
    const config = { ignition: { version: '3.5.0' }, storage };
    await this.world.admin.resource(machineConfigs).patch('50-user', { type: 'merge', body: { spec: { config } } });
  }

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
    await this.controllers.close();
    await this.world.close();
  }
}
