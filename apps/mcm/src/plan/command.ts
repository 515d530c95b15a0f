import type { Command } from 'commander';
import { withCluster, withOutput, withSelector } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { PLAN_EXIT } from '../command/exit-codes.ts';
import { RECURSIVE, repeated } from '../files/option.ts';
import { GUESSES } from './guesses.ts';
import type { PlanFlags } from './run.ts';

const inMinutes = (ms: number): string => `${ms / 60_000}m`;

export function addPlan(program: Command, environment: CommandEnvironment): void {
  withOutput(
    withCluster(
      withSelector(
        program
          .command('plan')
          .description(
            'simulate the rollout of machinedeployments, and print its steps, duration and blockers; changes nothing',
          )
          // The option is not declared as required, because commander would report a missing option before a misspelled
          // flag.
          .option(
            '-f, --filename <path>',
            'file or directory with machinedeployments (and machineclasses), or - for standard input; repeatable',
            repeated,
          )
          .option(...RECURSIVE)
          .option(
            '--join-time <duration>',
            `time until the node of a new machine joins (default: the median of existing machines, or ${inMinutes(GUESSES.join)})`,
          )
          .option(
            '--drain-time <duration>',
            `duration of a drain without blockers (default: ${inMinutes(GUESSES.drain)})`,
          )
          .option(
            '--update-time <duration>',
            `duration of an in-place update, excluding the drain (default: ${inMinutes(GUESSES.update)})`,
          )
          .option(
            '--start-time <duration>',
            `time until the node of a stopped warm machine is ready (default: ${inMinutes(GUESSES.start)})`,
          ),
        'machinedeployments',
      ),
    ),
  ).action(async (flags: PlanFlags) => {
    // The exit code must not be 1, because 1 means that the plan contains steps.
    process.exitCode = PLAN_EXIT.problem;
    const { filename } = flags;
    if (filename === undefined)
      throw new UserError('-f is required: a file or a directory with machinedeployments, or - for standard input');
    const { reportPlan } = await import('./run.ts');
    await reportPlan(filename, flags, environment);
  });
}
