import { Labels, type Machine, machines } from '@mcm/api';
import { ignoreNotFound, type KubeClient, nodes, type VirtualClock } from '@mcm/kube';

export interface MachineLives {
  readonly birthMs?: (machine: Machine, index: number) => number | undefined;
  readonly deathMs?: (machine: Machine, index: number) => number;
}

export interface KeptWorld {
  readonly namespace: string;
  readonly clock: VirtualClock;
  readonly keeper: KubeClient;
  readonly problems: unknown[];
  setPhase(name: string, phase: string): Promise<void>;
}

/** Simulates a machine controller, with delays before a machine becomes Running or disappears. */
export class MachineKeeper {
  readonly #world: KeptWorld;
  readonly #lives: MachineLives;
  readonly #seen = new Set<string>();
  readonly #dying = new Set<string>();
  #born = 0;
  #died = 0;

  constructor(world: KeptWorld, lives: MachineLives) {
    this.#world = world;
    this.#lives = lives;
  }

  look(machine: Machine): void {
    const { uid, name, deletionTimestamp } = machine.metadata;
    if (deletionTimestamp !== undefined && !this.#dying.has(uid)) {
      this.#dying.add(uid);
      const ms = this.#lives.deathMs?.(machine, this.#died++) ?? 100;
      this.#later(ms, () => this.#bury(name));
    } else if (!this.#seen.has(uid) && machine.status?.currentStatus?.phase === undefined) {
      this.#seen.add(uid);
      const ms = this.#lives.birthMs ? this.#lives.birthMs(machine, this.#born++) : 100;
      if (ms !== undefined) this.#later(ms, () => this.#raise(name));
    }
  }

  #later(ms: number, act: () => Promise<unknown>): void {
    this.#world.clock.setTimeout(() => void act().catch((error: unknown) => this.#world.problems.push(error)), ms);
  }

  async #raise(name: string): Promise<void> {
    const { keeper } = this.#world;
    const resource = keeper.resource(machines, this.#world.namespace);
    const existing = await ignoreNotFound(resource.get(name));
    if (existing === undefined || existing.metadata.deletionTimestamp !== undefined) return;
    await keeper.resource(nodes).create({ metadata: { name }, spec: {} });
    // In a real cluster, the node lifecycle controller removes the taint when the node is ready.
    await keeper.resource(nodes).patch(name, { type: 'merge', body: { spec: { taints: null } } });
    await resource.patch(name, { type: 'merge', body: { metadata: { labels: { [Labels.Node]: name } } } });
    await this.#world.setPhase(name, 'Running');
  }

  async #bury(name: string): Promise<void> {
    const { keeper } = this.#world;
    await ignoreNotFound(keeper.resource(nodes).delete(name));
    await ignoreNotFound(
      keeper
        .resource(machines, this.#world.namespace)
        .patch(name, { type: 'merge', body: { metadata: { finalizers: null } } }),
    );
  }
}
