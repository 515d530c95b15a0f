import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import type { Dice } from '../script/dice.ts';
import type { RestoreVerifier } from '../verifiers/restore-verifier.ts';
import { NAMESPACE, type World } from '../world/world.ts';
import { deleteNodesOfLostVms } from './cloud-nodes.ts';

interface Wish {
  replicas: number;
  machineClass: string;
}

const MAX_BACKUPS = 3;
/** A restore increases the revision by one of these numbers, as the how-to recommends. */
const BUMPS = [0, 0, 1_000_000] as const;
const RESTART_AFTER_MS = 1_000;
const RESTART_MS = 5_000;
const OPERATE_EVERY_MS = 60_000;
const OVERRIDE_MS = 3_600_000;

/** Backs up and restores the cluster, which contains the objects of mcm and the Nodes. */
export class Restores {
  readonly #world: World;
  readonly #verifier: RestoreVerifier;
  readonly #dice: Dice;
  readonly #backups: { readonly backup: ReturnType<World['backup']>; readonly wish: Wish }[] = [];
  #operates = false;

  constructor(world: World, verifier: RestoreVerifier, dice: Dice) {
    [this.#world, this.#verifier, this.#dice] = [world, verifier, dice];
  }

  backUp({ replicas, machineClass }: Wish): void {
    this.#world.reporter.note('act', 'the user creates a backup of the cluster');
    this.#backups.push({ backup: this.#world.backup(), wish: { replicas, machineClass } });
    if (this.#backups.length > MAX_BACKUPS) this.#backups.shift();
  }

  /** Restores one of the latest backups. */
  async restore(wish: Wish): Promise<void> {
    const world = this.#world;
    const chosen = this.#dice.one(this.#backups);
    if (!chosen) return;
    Object.assign(wish, chosen.wish);
    world.expects(wish.replicas);
    const joined = new Set(await world.nodeNames());
    await world.restore(chosen.backup, this.#dice.one(BUMPS));
    const known = new Set((await world.machines()).map(({ metadata }) => metadata.name));
    world.reporter.isRestored(known);
    // If a VM has never joined, it has no pods, so mcm deletes it without a drain.
    this.#verifier.forgets(world.vms().filter((name) => joined.has(name) && !known.has(name)));
    await world.clock.advance(RESTART_AFTER_MS);
    world.restartCloud(RESTART_MS);
  }

  operate(): void {
    this.#operates = true;
    const again = (): void => {
      if (!this.#operates) return;
      this.#operate().catch((error: unknown) => this.#world.reporter.violate(String(error)));
      this.#world.clock.setTimeout(again, OPERATE_EVERY_MS);
    };
    again();
  }

  rest(): void {
    this.#operates = false;
  }

  async #operate(): Promise<void> {
    const classes = this.#world.admin.resource<MachineClass>(machineClasses, NAMESPACE);
    const until = new Date(this.#world.clock.now().getTime() + OVERRIDE_MS).toISOString();
    for (const { metadata } of (await classes.list()).items) {
      const quarantined = metadata.annotations?.[Annotations.QuarantinedVMs] ?? '';
      if (quarantined !== '') this.#release(quarantined.split(','));
      const annotations = {
        [Annotations.BreakerOverride]: `${until} the VMs ended before the user restored the backup`,
        [Annotations.ReleaseVMs]: quarantined || (metadata.annotations?.[Annotations.ReleaseVMs] ?? null),
      };
      await classes.patch(metadata.name, { type: 'merge', body: { metadata: { annotations } } });
    }
    // The Nodes of released VMs have labels of mcm, so this call also deletes these Nodes.
    await deleteNodesOfLostVms(this.#world, () => true);
  }

  #release(providerIds: readonly string[]): void {
    const released = new Set(providerIds.map((providerId) => providerId.split('/').at(-1)));
    const vms = [...this.#world.cloud.instances.list()].filter(({ id }) => released.has(id));
    this.#verifier.releases(vms.map(({ name }) => name));
  }
}
