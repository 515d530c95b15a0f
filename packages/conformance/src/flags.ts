import { reportRefusals } from '@mcm/kube/flags';
import { Command, CommanderError, InvalidArgumentError } from 'commander';

export interface ConformanceFlags {
  readonly driver: string;
  readonly config: string;
  readonly junit?: string;
  readonly only?: string;
  readonly seed: number;
  readonly histories: number;
}

export const USAGE = 2;

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('The value must be a whole number.');
}

/** The parser treats the two required flags as optional. */
function flagsOf(command: Command): ConformanceFlags {
  const { driver, config, ...others } = command.opts<
    Omit<ConformanceFlags, 'driver' | 'config'> & Partial<ConformanceFlags>
  >();
  if (driver === undefined)
    return command.error('--driver must be set: write the path of a module that exports createDriver(context)');
  if (config === undefined)
    return command.error('--config must be set: write the path of a YAML file with machineClass, secret and dialect');
  return { driver, config, ...others };
}

export function parseFlags(args: readonly string[], write: (text: string) => void): ConformanceFlags | number {
  const command = reportRefusals(new Command('mcm-conformance'))
    .description('Verifies that a driver creates no second VM, deletes all resources and reports errors correctly.')
    .option(
      '--driver <file>',
      'module that exports createDriver(context), and openCloud() if the cloud runs in this process',
    )
    .option('--config <file>', 'YAML file with machineClass, secret, dialect, volumes and other fields')
    .option('--junit <file>', 'also write the report as JUnit XML')
    .option('--only <text>', 'run only the scenarios whose name contains the given text')
    .option('--seed <number>', 'seed for the random names of machines, and of the first history', wholeNumber, 1)
    .option('--histories <number>', 'number of additional histories with random calls and faults', wholeNumber, 0)
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: write });
  try {
    return flagsOf(command.parse(args, { from: 'user' }));
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : USAGE;
    throw thrown;
  }
}
