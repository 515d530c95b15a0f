import { PauseVerifier } from '../verifiers/pause-verifier.ts';
import { World, type WorldOptions } from '../world/world.ts';
import { type FleetMode, strategyOf } from './modes.ts';
import type { HistoryOptions, Outcome } from './outcome.ts';
import { RandomHistory } from './random-acts.ts';

/** The result of a history, and what the verifiers checked. */
export interface RandomOutcome extends Outcome {
  /** Number of checked pauses during a rollout. */
  readonly pauses: number;
}

/** Options of a history of a fleet. */
export interface FleetHistoryOptions extends HistoryOptions {
  /** Wraps the client of a controller, for example with a defect. */
  readonly wrap?: NonNullable<WorldOptions['wrap']>;
  /** Breaks elections. */
  readonly elected?: Pick<WorldOptions, 'unfenced'>;
}

/** Runs a history of a fleet. */
export async function play(mode: FleetMode, options: FleetHistoryOptions): Promise<RandomOutcome> {
  const { seed, profile, wrap } = options;
  const machine = { creationTimeout: '5m', healthTimeout: '3m', inPlaceUpdateTimeout: '5m' };
  const world = await World.start({
    seed,
    profile,
    machine,
    kubelets: { joinDelay: mode === 'pauses' ? 2_000 * (2 + (seed % 7)) : 500 * (seed % 7) },
    ...strategyOf(mode, seed),
    ...(mode === 'large' ? { moreClasses: ['red'] } : {}),
    disks: mode === 'disks',
    ...(mode === 'leases' ? { elections: true, ...options.elected } : {}),
    restartAfterMs: 1_000 * (seed % 11),
    ...(wrap ? { wrap } : {}),
  });
  const end = new AbortController();
  const verifier = mode === 'pauses' ? PauseVerifier.watch(world, end.signal) : undefined;
  const violations: string[] = [];
  const played = new RandomHistory(world, mode, options);
  try {
    await played.run();
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...world.violations);
  const history = JSON.stringify(world.reporter.history);
  const story = world.reporter.tell();
  end.abort(new Error('closed'));
  await world.close();
  return { violations, story, history, plan: played.plan, pauses: verifier?.verified ?? 0 };
}
