import { counted, formatDurationMs } from '@mcm/api';
import { combined, type Figures, percentile } from './figures.ts';
import type { HistoryResult } from './play.ts';

export interface Simulation {
  readonly scenario: string;
  readonly driver: string;
  readonly faults: boolean;
  readonly seeds: { readonly first: number; readonly count: number };
  readonly machines: { readonly count: number; readonly neverReady: number };
  readonly untilReadyMs: { readonly p50: number | null; readonly p99: number | null };
  readonly rollMs: { readonly p50: number | null; readonly max: number | null };
  readonly maxUnavailable: number;
  readonly violations: readonly { readonly seed: number; readonly text: string; readonly replay: string }[];
  readonly story: string | undefined;
}

export interface ReportOptions {
  readonly scenario: string;
  readonly driver: string;
  readonly faults: boolean;
  /** Returns the command that repeats the simulation with this random seed. */
  readonly replayOf: (seed: number) => string;
  readonly story: boolean;
}

const orNull = (value: number | undefined): number | null => value ?? null;

export function simulationOf(results: readonly HistoryResult[], options: ReportOptions): Simulation {
  const figures: Figures = combined(results.map((result) => result.figures));
  const guilty = results.find(({ violations }) => violations.length > 0);
  const story = options.story ? (guilty ?? results[0])?.story : undefined;
  return {
    scenario: options.scenario,
    driver: options.driver,
    faults: options.faults,
    seeds: { first: results[0]?.seed ?? 0, count: results.length },
    machines: { count: figures.readyMs.length, neverReady: figures.neverReady },
    untilReadyMs: { p50: orNull(percentile(figures.readyMs, 0.5)), p99: orNull(percentile(figures.readyMs, 0.99)) },
    rollMs: { p50: orNull(percentile(figures.rollMs, 0.5)), max: orNull(percentile(figures.rollMs, 1)) },
    maxUnavailable: figures.maxUnavailable,
    violations: results.flatMap(({ seed, violations }) =>
      violations.map((text) => ({ seed, text, replay: options.replayOf(seed) })),
    ),
    story,
  };
}

const seconds = (ms: number | null): string => (ms === null ? '-' : formatDurationMs(Math.round(ms / 1_000) * 1_000));

export function simulationLines(model: Simulation): readonly string[] {
  const { seeds, machines, untilReadyMs, rollMs, violations } = model;
  const last = seeds.first + seeds.count - 1;
  const range = seeds.count === 1 ? `seed ${seeds.first}` : `seeds ${seeds.first} to ${last}`;
  const never = machines.neverReady > 0 ? `, ${machines.neverReady} deleted before Ready` : '';
  return [
    `driver ${model.driver}, scenario ${model.scenario}, ${range}, ${model.faults ? 'with' : 'without'} faults`,
    `until Ready:      p50 ${seconds(untilReadyMs.p50)}, p99 ${seconds(untilReadyMs.p99)} (${counted(machines.count, 'machine')}${never})`,
    ...(rollMs.max === null ? [] : [`roll:             p50 ${seconds(rollMs.p50)}, longest ${seconds(rollMs.max)}`]),
    `unavailable:      at most ${counted(model.maxUnavailable, 'machine')} of a deployment at the same time`,
    `violations:       ${violations.length === 0 ? 'none' : violations.length}`,
    ...violations.flatMap(({ seed, text, replay }) => [`  seed ${seed}: ${text}`, `    replay: ${replay}`]),
    ...(model.story === undefined ? [] : ['', ...model.story.split('\n')]),
  ];
}
