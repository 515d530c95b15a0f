import type { Dice } from '../script/dice.ts';
import type { World, WorldOptions } from '../world/world.ts';

/** What the user has requested for the deployment. Between two actions, a feature may change this. */
export interface FeatureWish {
  replicas: number;
  machineClass: string;
}

/** The actions and checks of a feature that is off by default. */
export interface Feature {
  /** After an action of the feature, the history waits at most this time. */
  readonly maxWaitMs: number;
  /** How many decisions were verified. */
  readonly verified: number;
  /** Changes objects of the feature, as a user or another client does. */
  act(dice: Dice, wish: FeatureWish): Promise<void>;
  /** Removes the faults of the feature. After that, the fleet must reach its desired state. */
  calm(wish: FeatureWish): Promise<void>;
  /**
   * Verifies a change of the feature while no fault occurs. After that, the fleet may have another state than the user
   * requested.
   */
  verifyTimely(wish: FeatureWish): Promise<void>;
  /** Verifies the objects of the feature at the end, when the fleet is complete. */
  verifyEnd(wish: FeatureWish): Promise<void>;
}

/** A feature, and the options of the histories that use it. */
export interface OptIn {
  readonly options: Partial<WorldOptions>;
  /** Runs the checks until `signal` is aborted. */
  readonly watch: (world: World, signal: AbortSignal) => Feature;
}
