import { type Command, InvalidArgumentError } from 'commander';
import { nameOf, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import type { Change, HistoryFlags, RolloutFlags, StatusFlags } from './run.ts';

const deploymentName = (text: string): string => nameOf('MachineDeployment', text);

function revisionNumber(text: string): number {
  const revision = Number(text);
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new InvalidArgumentError(`"${text}" is no revision; write an integer of 0 or more, 0 being the one before`);
  }
  return revision;
}

/** Adds `rollout`: looks after the rollout of a MachineDeployment. */
export function addRollout(program: Command, surroundings: CommandSurroundings): void {
  const rollout = program.command('rollout').description('look after the rollout of a MachineDeployment');
  const action = (name: string, description: string): Command =>
    withCluster(rollout.command(name).description(description).argument('<deployment>', 'its name', deploymentName));

  withOutput(action('status', 'say where the rollout is, until it is complete (exit status 0) or has failed (1)'))
    .option('--no-watch', 'say it once')
    .action(async (name: string, flags: StatusFlags) => {
      const { tellStatus } = await import('./run.ts');
      await tellStatus(name, flags, surroundings);
    });
  const change = (command: Command, what: Change): Command =>
    withOutput(command).action(async (name: string, flags: RolloutFlags) => {
      const { changeRollout } = await import('./run.ts');
      await changeRollout(what, name, flags, surroundings);
    });
  change(action('pause', 'stop the rollout where it is'), 'pause');
  change(action('resume', 'let a paused rollout go on'), 'resume');
  change(action('restart', 'replace every machine by the rules of the strategy'), 'restart');
  change(
    action('undo', 'go back to the revision before, or to a given one').option(
      '--to-revision <revision>',
      'see: mcm rollout history',
      revisionNumber,
      0,
    ),
    'undo',
  );
  withOutput(action('history', 'list the revisions, the present one with a *'))
    .option('--revision <revision>', 'print the template of one', revisionNumber)
    .action(async (name: string, flags: HistoryFlags) => {
      const { tellHistory } = await import('./run.ts');
      await tellHistory(name, flags, surroundings);
    });
}
