import type { Figures } from './figures.ts';
import { SimulatedFleet } from './fleet.ts';
import { History, type HistoryOptions, Incomplete } from './history.ts';
import { SCENARIOS, type ScenarioName } from './scenarios.ts';

export interface PlayOptions extends HistoryOptions {
  readonly scenario: ScenarioName;
}

/** The result of a history. Histories with equal options always have equal results. */
export interface HistoryResult {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly figures: Figures;
  readonly durationMs: number;
  readonly story: string;
}

/** Runs one history in a new cloud. */
export async function playHistory(options: PlayOptions): Promise<HistoryResult> {
  const cloud = await options.openCloud(options.seed);
  const fleet = await SimulatedFleet.start({ ...options, cloud });
  const inventory = async (): Promise<readonly string[]> =>
    cloud.inventory ? cloud.inventory() : (await fleet.vms.check()).map(({ providerId }) => providerId);
  const started = fleet.clock.monotonic();
  const history = new History(fleet, options, {
    before: [],
    inventory,
    interrupt: options.settings.interruptions ? cloud.interrupt : undefined,
  });
  try {
    await history.run(SCENARIOS[options.scenario].play);
  } catch (error) {
    if (!(error instanceof Incomplete)) throw error;
    fleet.reporter.violate(error.message);
  }
  const result = {
    seed: options.seed,
    violations: [...fleet.reporter.violations],
    figures: fleet.measurements.figures,
    durationMs: fleet.clock.monotonic() - started,
    story: fleet.reporter.tell(),
  };
  await fleet.close();
  return result;
}
