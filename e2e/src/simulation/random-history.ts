import { PauseJudge } from './pause-judge.ts';
import { RandomHistory } from './random-acts.ts';
import { PAUSE_SEEDS, strategyOf } from './seeds.ts';
import { World, type WorldOptions } from './world.ts';

/** What became of a seed. */
export interface Outcome {
  /** Empty when all went as it should. */
  readonly violations: readonly string[];
  /** The story, for a person. */
  readonly story: string;
  /** Everything that was seen, request by request. */
  readonly history: string;
}

/** What became of a seed, and what there was to judge. */
export interface RandomOutcome extends Outcome {
  /** Pauses in the middle of a rollout that were judged. */
  readonly pauses: number;
}

/**
 * Plays the history of a seed. Same seed, same history, to the byte.
 * @param wrap Wraps what a controller asks the API server, e.g. to break it.
 */
export async function play(seed: number, wrap?: NonNullable<WorldOptions['wrap']>): Promise<RandomOutcome> {
  const machine = { creationTimeout: '5m', healthTimeout: '3m', inPlaceUpdateTimeout: '5m' };
  const world = await World.start({
    seed,
    machine,
    kubelets: { joinDelay: seed >= PAUSE_SEEDS ? 2_000 * (2 + (seed % 7)) : 500 * (seed % 7) },
    ...strategyOf(seed),
    restartAfterMs: 1_000 * (seed % 11),
    ...(wrap ? { wrap } : {}),
  });
  const end = new AbortController();
  const judge = seed >= PAUSE_SEEDS ? PauseJudge.watch(world, end.signal) : undefined;
  const violations: string[] = [];
  try {
    await new RandomHistory(world, seed).run();
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...world.violations);
  const history = JSON.stringify(world.witness.history);
  const story = world.witness.tell();
  end.abort(new Error('closed'));
  await world.close();
  return { violations, story, history, pauses: judge?.judged ?? 0 };
}
