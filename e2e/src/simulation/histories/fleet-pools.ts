import { conditionOf, type MachineConfigPool, machineConfigPools, NodeAnnotations } from '@mcm/machine-config';
import { BOUNDS } from '../record/bounds.ts';
import type { Dice } from '../script/dice.ts';
import { JoinVerifier } from '../verifiers/join-verifier.ts';
import { type ConfigWorld, fileOf } from '../world/config-world.ts';
import { NAMESPACE } from '../world/world-options.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const STRATEGIES = ['InPlace', 'Replace', 'InPlaceElseReplace'] as const;
const MAX_UNAVAILABLE = 3;

interface Pool {
  readonly name: string;
  readonly maxUnavailable: number;
}

export class FleetPools {
  readonly #config: ConfigWorld;
  readonly #dice: Dice;
  readonly #pools: readonly Pool[];
  #written = 0;

  /** @param names the names of the deployments At the start, only the first deployment has a pool. */
  constructor(config: ConfigWorld, dice: Dice, names: readonly string[]) {
    [this.#config, this.#dice] = [config, dice];
    this.#pools = names.map((name) => ({ name, maxUnavailable: 1 + dice.number(MAX_UNAVAILABLE) }));
  }

  async create(signal: AbortSignal): Promise<void> {
    const [first] = this.#pools;
    for (const pool of this.#pools) {
      const { name, maxUnavailable } = pool;
      const machineRef = { kind: 'MachineDeployment', namespace: NAMESPACE, name };
      const spec = { machineRef, maxUnavailable, updateStrategy: this.#dice.one(STRATEGIES) };
      await (pool === first ? this.#patch(name, spec) : this.#config.createPool(name, spec));
    }
    const limits = new Map(this.#pools.map(({ name, maxUnavailable }) => [name, maxUnavailable]));
    new JoinVerifier(this.#config.world, {
      poolOf: (deployment) => deployment,
      limitOf: (pool) => limits.get(pool),
      protects: false,
      lagMs: () => this.#config.lagMs(),
    }).watch(signal);
  }

  #patch(name: string, spec: object): Promise<unknown> {
    return this.#config.world.admin.resource(machineConfigPools).patch(name, { type: 'merge', body: { spec } });
  }

  async change(): Promise<void> {
    this.#written += 1;
    this.#config.world.reporter.note('act', `the user changes the configuration to ${this.#written}`);
    await this.#config.change({ files: [fileOf('/etc/a', `v${this.#written}`)] });
  }

  /** Pauses or resumes a pool, or changes its strategy, as a user does. */
  async direct(): Promise<void> {
    const name = this.#dice.one(this.#pools)?.name ?? '';
    const spec =
      this.#dice.number(2) === 0
        ? { paused: this.#dice.number(2) === 0 }
        : { updateStrategy: this.#dice.one(STRATEGIES) };
    this.#config.world.reporter.note('act', `pool ${name} gets ${JSON.stringify(spec)}`);
    await this.#patch(name, spec);
  }

  kill(): void {
    this.#config.controllers.kill();
  }

  async mend(): Promise<void> {
    this.#config.network.calm();
    for (const { name } of this.#pools) await this.#patch(name, { paused: false });
    await this.change();
  }

  async untilUpdated(): Promise<void> {
    try {
      await this.#config.world.until(async () => (await this.#mismatch()) === undefined, BOUNDS.healed.ms);
    } catch (error) {
      throw new Error(`a pool has not updated its nodes: ${await this.#mismatch()}`, { cause: error });
    }
  }

  async #mismatch(): Promise<string | undefined> {
    const { admin } = this.#config.world;
    const all = (await admin.resource(machineConfigPools).list()).items;
    const late = all.find((pool) => !isUpdated(pool));
    if (late) return `pool ${late.metadata.name}: ${JSON.stringify(late.status?.conditions)}`;
    const targets = new Set(all.map(({ spec }) => spec?.configuration?.name));
    const counted = all.reduce((sum, { status }) => sum + (status?.machineCount ?? 0), 0);
    const nodes = await this.#config.nodes();
    if (counted !== nodes.length)
      return `the status of the pools has ${counted} machines, but the cluster has ${nodes.length} nodes`;
    const node = nodes.find(({ metadata: { annotations = {} }, spec }) => {
      const current = annotations[CurrentConfig];
      const done = annotations[State] === 'Done' && current === annotations[DesiredConfig] && targets.has(current);
      return !done || spec?.unschedulable === true;
    });
    return node && `node ${node.metadata.name} is ${node.metadata.annotations?.[State] ?? 'new'}`;
  }
}

const isUpdated = ({ status }: MachineConfigPool): boolean =>
  conditionOf(status?.conditions, 'Updated')?.status === 'True';
