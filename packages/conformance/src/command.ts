import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Clock, errorText, type Transport } from '@mcm/kube';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { type ConformanceConfig, readConfig } from './config.ts';
import { junitXml, outcomeText, summaryText } from './report.ts';
import { runConformance } from './run.ts';
import type { ConformanceTarget, CreateDriver, World } from './target.ts';

/** What the command needs of the process. */
export interface CommandHost {
  /** Of a target that brings no cloud of its own. */
  readonly clock: Clock;
  /** Takes the time of each scenario: seconds that a CI has waited, whatever the clock of the cloud says. */
  readonly stopwatch: Clock;
  readonly write: (text: string) => void;
  readonly readFile: (path: string) => Promise<string>;
  readonly writeFile: (path: string, text: string) => Promise<void>;
  readonly connect: (origin: string) => Transport;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const USAGE = 2;

const driverModule = z.looseObject({
  createDriver: z.custom<CreateDriver>((value) => typeof value === 'function', 'must be a function'),
  openCloud: z
    .custom<() => World | Promise<World>>((value) => typeof value === 'function', 'must be a function')
    .optional(),
});

/** Runs `mcm-conformance`; the exit code: 0 all passed, 1 something failed, 2 it could not be played. */
export async function conformanceCommand(args: readonly string[], host: CommandHost): Promise<number> {
  const command = new Command('mcm-conformance')
    .description('Proves that a driver makes no second VM, leaves nothing behind and says what is wrong.')
    .requiredOption(
      '--driver <file>',
      'module that exports createDriver(context), and openCloud() for a cloud in process',
    )
    .requiredOption('--config <file>', 'YAML: machineClass, secret, dialect, volumes, …')
    .option('--junit <file>', 'write the report as JUnit XML as well')
    .option('--only <text>', 'scenarios whose name holds the text')
    .option('--seed <number>', 'names of machines are drawn from it', '1')
    .exitOverride()
    .configureOutput({ writeOut: host.write, writeErr: host.write });
  try {
    command.parse(args, { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : USAGE;
    throw thrown;
  }
  const options = command.opts<{ driver: string; config: string; junit?: string; only?: string; seed: string }>();
  try {
    const config = readConfig(options.config, await host.readFile(options.config), host.variables);
    const target = await targetOf(options.driver, config, host);
    const report = await runConformance(target, {
      only: options.only,
      seed: Number(options.seed),
      stopwatch: host.stopwatch,
      onOutcome: (outcome) => host.write(outcomeText(outcome)),
    });
    host.write(summaryText(report));
    if (options.junit !== undefined) await host.writeFile(options.junit, junitXml(report));
    return report.failed > 0 ? 1 : 0;
  } catch (thrown) {
    host.write(`mcm-conformance: ${errorText(thrown)}\n`);
    return USAGE;
  }
}

async function targetOf(
  path: string,
  config: ConformanceConfig,
  { clock, connect }: CommandHost,
): Promise<ConformanceTarget> {
  const module = driverModule.safeParse(await import(pathToFileURL(resolve(path)).href));
  if (!module.success) throw new Error(`${path}: ${z.prettifyError(module.error)}`);
  const ways = once(connect);
  const { createDriver, openCloud = (): World => ({ clock, connect: ways }) } = module.data;
  return { name: path, createDriver, openCloud, ...config };
}

/** One way to each origin, whose connections all that is played shares: a handshake for each driver would take most of the time. */
function once(connect: CommandHost['connect']): CommandHost['connect'] {
  const known = new Map<string, Transport>();
  return (origin) => {
    const way = known.get(origin) ?? connect(origin);
    known.set(origin, way);
    return way;
  };
}
