import { type Clock, errorText, realClock, seededRandom, type Transport, undiciTransport } from '@mcm/kube';
import { adoption } from './scenarios/adoption.ts';
import { alternatives } from './scenarios/alternatives.ts';
import { callBehavior } from './scenarios/call-behavior.ts';
import { creation } from './scenarios/creation.ts';
import { deletion } from './scenarios/deletion.ts';
import { randomHistory } from './scenarios/histories.ts';
import { interruptions } from './scenarios/interruptions.ts';
import { lookup } from './scenarios/lookup.ts';
import { power } from './scenarios/power.ts';
import { refusals } from './scenarios/refusals.ts';
import { tagging } from './scenarios/tagging.ts';
import { Failure, Skip } from './stage/outcome.ts';
import type { Scenario } from './stage/scenario.ts';
import { Stage } from './stage/stage.ts';
import type { ConformanceTarget, CreateDriver, World } from './stage/target.ts';

/** All scenarios that a driver must pass. */
export const SCENARIOS: readonly Scenario[] = [
  ...creation,
  ...alternatives,
  ...adoption,
  ...refusals,
  ...lookup,
  ...deletion,
  ...power,
  ...tagging,
  ...interruptions,
  ...callBehavior,
];

/** Returns the scenario with the name `only`. */
export function scenariosOf(only: string): readonly Scenario[] {
  const exact = SCENARIOS.filter(({ name }) => name === only);
  return exact.length > 0 ? exact : SCENARIOS.filter(({ name }) => name.includes(only));
}

/** The result of one scenario. */
export interface Outcome {
  readonly scenario: Scenario;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** If the scenario passed, `why` is undefined. */
  readonly why?: string;
  readonly ms: number;
}

/** The results of all scenarios against one target. */
export interface Report {
  readonly target: string;
  readonly outcomes: readonly Outcome[];
  readonly failed: number;
  readonly notes: readonly string[];
}

/** The selection of scenarios, and callbacks for results. */
export interface RunOptions {
  readonly only?: string | undefined;
  readonly seed?: number | undefined;
  /** Number of random histories that run after the scenarios (default: 0). */
  readonly histories?: number | undefined;
  /**
   * Measures the duration of each scenario. By default, `stopwatch` is the clock of the cloud, which may be virtual.
   */
  readonly stopwatch?: Clock | undefined;
  readonly onOutcome?: (outcome: Outcome) => void;
}

/**
 * Runs every scenario against a target. Each scenario has a new driver. The promise never rejects because of an error
 * of a driver.
 */
export async function runConformance(target: ConformanceTarget, options: RunOptions = {}): Promise<Report> {
  const { only = '', seed = 1, histories = 0, stopwatch, onOutcome } = options;
  const random = Array.from({ length: histories }, (_, index) => randomHistory(seed + index));
  const outcomes: Outcome[] = [];
  const names = new Set<string>();
  const createDriver: CreateDriver = (context) => {
    const driver = target.createDriver(context);
    names.add(driver.name);
    return driver;
  };
  for (const scenario of [...scenariosOf(only), ...random]) {
    const outcome = await play({ ...target, createDriver }, scenario, { seed: seed + outcomes.length, stopwatch });
    outcomes.push(outcome);
    onOutcome?.(outcome);
  }
  const failed = outcomes.filter(({ state }) => state === 'failed').length;
  return { target: target.name, outcomes, failed, notes: providerNotes(target, [...names]) };
}

/**
 * Returns a note if the class contains a wrong name of the driver, because users copy the name to their MachineClasses.
 */
const providerNotes = ({ machineClass: { provider = '' } }: ConformanceTarget, names: readonly string[]): string[] =>
  names
    .filter((name) => provider !== '' && provider.toLowerCase() !== name.toLowerCase())
    .map((name) => `machineClass.provider is "${provider}", but the name of the driver is "${name}"`);

/** Returns a world with the network and the real clock, for a target that has no cloud in this process. */
function overTheNetwork(): World {
  const opened = new Map<string, ReturnType<typeof undiciTransport>>();
  const connect = (origin: string): Transport => {
    const transport = opened.get(origin) ?? undiciTransport({ server: origin });
    opened.set(origin, transport);
    return transport;
  };
  const close = async (): Promise<void> => {
    await Promise.all([...opened.values()].map((each) => each.close()));
  };
  return { clock: realClock, connect, close };
}

async function play(
  target: ConformanceTarget,
  scenario: Scenario,
  { seed, stopwatch }: { readonly seed: number; readonly stopwatch: Clock | undefined },
): Promise<Outcome> {
  const world = await (target.openCloud ?? overTheNetwork)();
  const stage = new Stage(target, world, seededRandom(seed));
  const watch = stopwatch ?? world.clock;
  const since = watch.monotonic();
  const took = (): number => watch.monotonic() - since;
  try {
    await scenario.run(stage);
    return { scenario, state: 'passed', ms: took() };
  } catch (thrown) {
    if (thrown instanceof Skip) return { scenario, state: 'skipped', why: thrown.message, ms: took() };
    const why =
      thrown instanceof Failure ? thrown.message : `the driver threw an unexpected error: ${errorText(thrown)}`;
    return { scenario, state: 'failed', why, ms: took() };
  } finally {
    // Errors of the clean-up are ignored, because separate scenarios test deletions (`deletion.ts`).
    await stage.close().catch(() => undefined);
  }
}
