import type { Dice } from '../script/dice.ts';
import type { World, WorldOptions } from '../world/world.ts';

export interface FeatureWish {
  replicas: number;
  machineClass: string;
}

/** The actions and checks of a feature that is off by default. */
export interface Feature {
  readonly maxWaitMs: number;
  readonly verified: number;
  /** Changes objects of the feature, as a user or another client does. */
  act(dice: Dice, wish: FeatureWish): Promise<void>;
  /** Removes the faults of the feature. */
  calm(wish: FeatureWish): Promise<void>;
  /** Verifies a change of the feature while no fault occurs. */
  verifyTimely(wish: FeatureWish): Promise<void>;
  verifyEnd(wish: FeatureWish): Promise<void>;
}

export interface OptIn {
  readonly options: Partial<WorldOptions>;
  readonly watch: (world: World, signal: AbortSignal) => Feature;
}
