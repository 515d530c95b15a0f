import { type MachineSet, machineSets } from '@mcm/api';
import { NAMESPACE, type World } from './world.ts';

/** Longer than a cache is behind, with retries: what was under way when a deployment was paused, or scaled, has arrived. */
const SETTLES_S = 20;

/**
 * Paused means that no rollout makes or deletes a machine: every set keeps its size until the user scales or resumes,
 * whatever becomes of template, machines and manager meanwhile. What a set replaces is not a rollout's doing.
 */
export class PauseVerifier {
  readonly #world: World;
  #paused = false;
  /** Sizes that have to stay, by the set's name. */
  #sizes: ReadonlyMap<string, number> | undefined;
  /** How often it could compare. */
  looks = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** To be called when the user has paused or resumed the deployment, or scaled it. */
  async asked(paused = this.#paused): Promise<void> {
    this.#paused = paused;
    this.#sizes = undefined;
    if (!paused) return;
    await this.#world.pass(SETTLES_S);
    this.#sizes = await this.#look();
  }

  /** What a rollout did although it is paused; a sentence each. */
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
