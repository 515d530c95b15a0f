import { type Clock, errorText, type Transport } from '@mcm/kube';
import { type ConformanceConfig, readConfig } from './config.ts';
import { loadDriverModule } from './driver-module.ts';
import { type ConformanceFlags, parseFlags, USAGE } from './flags.ts';
import { junitXml, outcomeText, summaryText } from './report.ts';
import { runConformance, SCENARIOS, scenariosOf } from './run.ts';
import type { ConformanceTarget, World } from './stage/target.ts';

/** The functions of the process that the command uses. */
export interface CommandHost {
  readonly clock: Clock;
  /** Measures the real duration of each scenario, because the clock of the cloud may be virtual. */
  readonly stopwatch: Clock;
  readonly write: (text: string) => void;
  readonly readFile: (path: string) => Promise<string>;
  readonly writeFile: (path: string, text: string) => Promise<void>;
  readonly connect: (origin: string) => Transport;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs the command. The exit code is 0 if all scenarios passed, 1 if some failed, and 2 if the scenarios could not run.
 */
export async function conformanceCommand(args: readonly string[], host: CommandHost): Promise<number> {
  const flags = parseFlags(args, host.write);
  return typeof flags === 'number' ? flags : playConformance(flags, host);
}

/** Runs the command with parsed flags, see {@link conformanceCommand}. */
export async function playConformance(options: ConformanceFlags, host: CommandHost): Promise<number> {
  try {
    const text = await named(`--config ${options.config}`, () => host.readFile(options.config));
    const config = readConfig(options.config, text, host.variables);
    const target = await targetOf(options.driver, config, host);
    if (options.only !== undefined && scenariosOf(options.only).length === 0)
      throw new Error(
        `--only must be a part of the name of a scenario, not "${options.only}"; the scenarios are: ${SCENARIOS.map(({ name }) => name).join(', ')}`,
      );
    const report = await runConformance(target, {
      only: options.only,
      seed: options.seed,
      histories: options.histories,
      stopwatch: host.stopwatch,
      onOutcome: (outcome) => host.write(outcomeText(outcome)),
    });
    host.write(summaryText(report));
    const { junit } = options;
    if (junit !== undefined) await named(`--junit ${junit}`, () => host.writeFile(junit, junitXml(report)));
    return report.failed > 0 ? 1 : 0;
  } catch (thrown) {
    host.write(`mcm-conformance: ${errorText(thrown)}\n`);
    return USAGE;
  }
}

async function named<T>(flag: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw new Error(`cannot use ${flag}: ${errorText(thrown)}`, { cause: thrown });
  }
}

async function targetOf(
  path: string,
  config: ConformanceConfig,
  { clock, connect }: CommandHost,
): Promise<ConformanceTarget> {
  const module = await named(`--driver ${path}`, () => loadDriverModule(path));
  const ways = once(connect);
  const { createDriver, openCloud = (): World => ({ clock, connect: ways }), inventory } = module;
  return { name: path, createDriver, openCloud, inventory, ...config };
}

/** Creates one connection for each origin. */
function once(connect: CommandHost['connect']): CommandHost['connect'] {
  const known = new Map<string, Transport>();
  return (origin) => {
    const way = known.get(origin) ?? connect(origin);
    known.set(origin, way);
    return way;
  };
}
