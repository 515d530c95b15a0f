import type { Dice } from '../script/dice.ts';
import type { World, WorldOptions } from '../world/world.ts';

/** The desired state of the deployment. A feature may change the desired state while no action runs. */
export interface FeatureWish {
  replicas: number;
  machineClass: string;
}

/** The actions and the verifier of a feature that is off by default. */
export interface Feature {
  /** The longest time that a history waits after an action of the feature. */
  readonly maxWaitMs: number;
  /** The number of verified decisions. */
  readonly verified: number;
  /** A user or another client changes objects of the feature. */
  act(dice: Dice, wish: FeatureWish): Promise<void>;
  /** Removes the faults of the feature, before the fleet must reach its desired state. */
  calm(wish: FeatureWish): Promise<void>;
  /** Verifies one change without faults. The fleet may need its desired state again afterwards. */
  verifyTimely(wish: FeatureWish): Promise<void>;
  /** Verifies the objects of the complete fleet. */
  verifyEnd(wish: FeatureWish): Promise<void>;
}

/** A feature with the options of its histories. */
export interface OptIn {
  readonly options: Partial<WorldOptions>;
  /** Runs the verifier until `signal` aborts. */
  readonly watch: (world: World, signal: AbortSignal) => Feature;
}
