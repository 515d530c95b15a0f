import { type MachineSet, machineSets } from '@mcm/api';
import { NAMESPACE, type World } from './world.ts';

/** After this number of seconds, all actions that began before a pause or a scaling have ended. */
const SETTLES_S = 20;

/** Verifies that no rollout creates or deletes a machine while a deployment is paused. */
export class PauseVerifier {
  readonly #world: World;
  #paused = false;
  #sizes: ReadonlyMap<string, number> | undefined;
  looks = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Tests must call `asked` after they pause, resume or scale the deployment. */
  async asked(paused = this.#paused): Promise<void> {
    this.#paused = paused;
    this.#sizes = undefined;
    if (!paused) return;
    await this.#world.pass(SETTLES_S);
    this.#sizes = await this.#look();
  }

  async violations(): Promise<string[]> {
    const before = this.#sizes;
    if (before === undefined) return [];
    this.looks += 1;
    const after = await this.#look();
    return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
      const [was, is] = [before.get(name) ?? 0, after.get(name) ?? 0];
      return was === is ? [] : [`paused, and ${name} went from ${was} to ${is}`];
    });
  }

  async #look(): Promise<ReadonlyMap<string, number>> {
    const { items } = await this.#world.keeper.resource<MachineSet>(machineSets, NAMESPACE).list();
    return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.replicas ?? 0]));
  }
}
