import { parseDurationMs } from '@mcm/api';
import { seededRandom } from '@mcm/kube';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { SIMULATE_EXIT } from '../command/exit-codes.ts';
import { namesOf, readObjects } from '../files/read.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { type OpenCloud, openLocal, openThirdParty } from './clouds.ts';
import { inputsOf, verifyProvider } from './inputs.ts';
import { type HistoryResult, type PlayOptions, playHistory } from './play.ts';
import { simulationLines, simulationOf } from './report.ts';
import type { ScenarioName } from './scenarios.ts';
import { controllerSettings } from './settings.ts';

const LIMITS = { histories: 10_000, seed: Number.MAX_SAFE_INTEGER - 10_000, pods: 50 } as const;

export interface SimulateFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly provider: string;
  readonly scenario: ScenarioName;
  readonly seed: string;
  readonly histories: string;
  readonly flags?: readonly string[];
  readonly faults: 'some' | 'none';
  readonly joinTime: string;
  readonly completeWithin: string;
  readonly podsPerMachine: string;
  readonly story?: true;
  readonly output: OutputFormat;
}

function wholeNumber(flag: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UserError(`${flag} must be a whole number from ${min} to ${max}, not "${text}"`);
}

function duration(flag: string, text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UserError(`${flag} must be a duration, such as 90s or 2h, not "${text}"`);
}

const quoted = (word: string): string => (/^[\w./@:=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

function replayOf(flags: SimulateFlags, seed: number): string {
  const words = [
    ...flags.filename.flatMap((path) => ['-f', path]),
    ...(flags.recursive ? ['-R'] : []),
    ...['--provider', flags.provider, '--scenario', flags.scenario, '--faults', flags.faults],
    ...['--join-time', flags.joinTime, '--complete-within', flags.completeWithin],
    ...['--pods-per-machine', flags.podsPerMachine],
    ...(flags.flags ?? []).flatMap((text) => [`--flags=${text}`]),
    ...['--seed', String(seed), '--histories', '1', '--story'],
  ];
  return `mcm simulate ${words.map(quoted).join(' ')}`;
}

const openerOf = async ({ provider, joinTime }: SimulateFlags): Promise<OpenCloud> => {
  const joinMs = duration('--join-time', joinTime);
  return provider === 'local' ? openLocal(joinMs) : openThirdParty(provider, process.cwd(), joinMs);
};

/** Runs histories until all are complete. */
async function playAll(
  options: Omit<PlayOptions, 'seed'>,
  { first, count }: { readonly first: number; readonly count: number },
  signal: AbortSignal,
): Promise<readonly HistoryResult[]> {
  const results: HistoryResult[] = [];
  for (let index = 0; index < count; index++) {
    signal.throwIfAborted();
    results.push(await playHistory({ ...options, seed: first + index }));
  }
  return results;
}

export async function reportSimulation(
  flags: SimulateFlags,
  { say, signal }: Pick<CommandEnvironment, 'say' | 'signal'>,
): Promise<void> {
  const first = wholeNumber('--seed', flags.seed, { min: 0, max: LIMITS.seed });
  const count = wholeNumber('--histories', flags.histories, { min: 1, max: LIMITS.histories });
  const podsPerMachine = wholeNumber('--pods-per-machine', flags.podsPerMachine, { min: 0, max: LIMITS.pods });
  const completeMs = duration('--complete-within', flags.completeWithin);
  const settings = await controllerSettings(flags.flags ?? []);
  const inputs = inputsOf(await readObjects(flags.filename, flags), namesOf(flags.filename));
  const openCloud = await openerOf(flags);
  const probe = await openCloud(first);
  const { name: driver } = probe.createDriver({ clock: probe.clock, random: seededRandom(0), connect: probe.connect });
  await probe.clock.ended(Promise.resolve(probe.close()), { maxMs: 60_000 });
  verifyProvider(inputs.classes, driver);
  const { scenario } = flags;
  const faults = flags.faults === 'some';
  const results = await playAll(
    { inputs, settings, openCloud, scenario, faults, completeMs, podsPerMachine },
    { first, count },
    signal(),
  );
  const model = simulationOf(results, {
    scenario,
    driver,
    faults,
    replayOf: (seed) => replayOf(flags, seed),
    story: flags.story === true,
  });
  for (const line of formatted(flags.output, model, simulationLines)) say(line);
  process.exitCode = model.violations.length > 0 ? SIMULATE_EXIT.violation : SIMULATE_EXIT.clean;
}
