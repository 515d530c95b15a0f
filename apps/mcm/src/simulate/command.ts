import { type Command, Option } from 'commander';
import { withOutput } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { SIMULATE_EXIT } from '../command/exit-codes.ts';
import { RECURSIVE, repeated } from '../files/option.ts';
import type { SimulateFlags } from './run.ts';

const SCENARIO_NAMES = ['random', 'roll', 'scale', 'repair', 'zone-loss', 'spot'];

export function addSimulate(program: Command, environment: CommandEnvironment): void {
  withOutput(
    program
      .command('simulate')
      .description(
        'run the controllers with your manifests and a simulated cloud on a virtual clock, with seeded faults; needs no cluster',
      )
      // The option is not declared as required, because commander would report a missing option before a misspelled
      // flag.
      .option(
        '-f, --filename <path>',
        'file or directory with machinedeployments, machineclasses and workloads, or - for standard input; repeatable',
        repeated,
      )
      .option(...RECURSIVE)
      .option('--provider <driver>', 'local, or a driver: file, folder or package that exports openCloud()', 'local')
      .addOption(
        new Option('--scenario <name>', 'scenario that defines the changes and failures of each history')
          .choices(SCENARIO_NAMES)
          .default('random'),
      )
      .option('--seed <number>', 'seed of the first history; the seed determines all actions and faults', '1')
      .option('--histories <number>', 'number of histories; the seed increases by 1 with each history', '1')
      .option(
        '--flags <flags>',
        'flags of both controllers, such as "--machine-health-timeout=5m"; repeatable',
        repeated,
      )
      .addOption(
        new Option('--faults <amount>', 'some: requests fail, and the controllers are killed; none: no faults')
          .choices(['some', 'none'])
          .default('some'),
      )
      .option('--join-time <duration>', 'time from the start of a VM until its Node registers', '30s')
      .option('--complete-within <duration>', 'time after the last fault within which the fleet must be complete', '2h')
      .option('--pods-per-machine <number>', 'pods for each machine, if the files contain no workload', '2')
      .option('--story', 'print the events of the first history with a violation, or of the first seed'),
  ).action(async ({ filename, ...flags }: Omit<SimulateFlags, 'filename'> & { filename?: readonly string[] }) => {
    process.exitCode = SIMULATE_EXIT.problem;
    if (filename === undefined)
      throw new UserError('-f is required: a file or a directory with machinedeployments and machineclasses, or -');
    const { reportSimulation } = await import('./run.ts');
    await reportSimulation({ ...flags, filename }, environment);
  });
}
