import { ignoreNotFound, type Transport } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { Dice } from '../script/dice.ts';
import type { World } from '../world/world.ts';
import type { Feature, FeatureWish, OptIn } from './feature.ts';
import { ratesOfCall, WatchedRates } from './watched-rates.ts';

const OPERATIONS = ['instances.create', 'instances.create', 'instances.delete', 'instances.get', 'instances.list'];
const MOST_REPLICAS = 7;
const LONGEST_RETRY_SECONDS = 60;
const TOO_MANY_REQUESTS = 429;

/**
 * The cloud throttles calls, and asks for a time to wait. `WatchedRates` reports calls before the end of this time, and
 * calls in the wrong order.
 */
class BudgetFeature implements Feature {
  readonly maxWaitMs = 60_000;
  readonly #world: World;
  readonly #count: { verified: number };

  constructor(world: World, count: { verified: number }) {
    this.#world = world;
    this.#count = count;
  }

  get verified(): number {
    return this.#count.verified;
  }

  /** The cloud throttles calls while the user creates machines. In some histories, the user then deletes machines. */
  async act(dice: Dice, wish: FeatureWish): Promise<void> {
    this.#throttle(dice.one(OPERATIONS) ?? '*', 1 + dice.number(LONGEST_RETRY_SECONDS), 1 + dice.number(4));
    await this.#resize(wish, Math.min(wish.replicas + 3, MOST_REPLICAS));
    await this.#world.clock.advance(dice.pause(20_000));
    for (const { metadata } of (await this.#world.machines()).slice(0, dice.number(4)))
      if (metadata.deletionTimestamp === undefined) await ignoreNotFound(this.#world.deleteMachine(metadata.name));
    if (dice.number(3) === 0) await this.#resize(wish, dice.number(3));
  }

  #throttle(operation: string, retryAfterSeconds: number, count: number): void {
    this.#world.reporter.note('act', `the cloud throttles ${count} calls (${operation}) for ${retryAfterSeconds} s`);
    this.#world.cloud.faults.order({ operation, error: { code: 'RequestLimitExceeded', retryAfterSeconds }, count });
  }

  async #resize(wish: FeatureWish, replicas: number): Promise<void> {
    wish.replicas = replicas;
    await this.#world.change({ replicas });
  }

  async calm(): Promise<void> {
    // The fleet itself removes the faults of the cloud, so this method does nothing.
  }

  /** Throttles a call. After the recovery time, calls must not wait, even if there are many. */
  async verifyTimely(wish: FeatureWish): Promise<void> {
    const world = this.#world;
    this.#throttle('instances.create', 5, 1);
    await this.#resize(wish, Math.min(wish.replicas + 4, MOST_REPLICAS + 1));
    await world.untilAllSettled([wish], BOUNDS.settled.ms);
    await world.clock.advance(BOUNDS.rateRecovered.ms);
    await this.#resize(wish, 0);
    await world.untilAllSettled([wish], BOUNDS.settled.ms);
  }

  async verifyEnd(): Promise<void> {
    // The verifier reports each wrong call immediately, so this method does nothing.
  }
}

/** Reports each throttled response to the verifier when the driver receives the response. */
const observed =
  (transport: Transport): Transport =>
  async (request) => {
    const rates = ratesOfCall();
    const answer = await transport(request);
    const seconds = answer.headers.get('retry-after');
    if (answer.status === TOO_MANY_REQUESTS && seconds !== null) rates?.throttled(Number(seconds) * 1_000);
    return answer;
  };

export function budgetOptIn(): OptIn {
  const count = { verified: 0 };
  return {
    options: {
      wrapCloud: observed,
      rates: (processClock, { clock, reporter }) =>
        new WatchedRates(processClock, {
          clock,
          violate: (text) => reporter.violate(text),
          onVerified: () => {
            count.verified++;
          },
        }),
    },
    watch: (world) => new BudgetFeature(world, count),
  };
}
