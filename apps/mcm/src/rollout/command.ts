import { type Command, InvalidArgumentError } from 'commander';
import { nameOf, objectText, withCluster, withOutput, withSelector } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import type { Change, HistoryFlags, RolloutFlags, StatusFlags } from './run.ts';

const deploymentName = (words: readonly string[]): string => nameOf('MachineDeployment', objectText(words));

function deploymentOf(words: readonly string[], { selector }: Pick<RolloutFlags, 'selector'>): string | undefined {
  if (words.length > 0 && selector !== undefined) throw new UserError('a name cannot be used together with --selector');
  if (words.length === 0 && selector === undefined)
    throw new UserError('no machinedeployment is given; write NAME, or --selector with labels');
  return words.length === 0 ? undefined : deploymentName(words);
}

function revisionNumber(text: string): number {
  const revision = Number(text);
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new InvalidArgumentError(
      `"${text}" is not a revision; write an integer of 0 or more; 0 is the previous revision`,
    );
  }
  return revision;
}

export function addRollout(program: Command, environment: CommandEnvironment): void {
  const rollout = program.command('rollout').description('manage the rollout of a MachineDeployment');
  const NAME = 'NAME of the deployment, or machinedeployment/NAME';
  const action = (name: string, description: string): Command =>
    withCluster(
      withSelector(
        rollout.command(name).description(description).argument('[deployment...]', NAME),
        'machinedeployments',
      ),
    );

  withOutput(
    action(
      'status',
      'print the progress of the rollout until the rollout is complete (exit code 0) or has failed (exit code 1)',
    ),
  )
    .option('-w, --watch', 'follow the rollout (default)')
    .option('--no-watch', 'print only the current state')
    .option('--timeout <duration>', 'longest time to follow the rollout; 0s means no limit', '0s')
    .action(async (words: string[], flags: StatusFlags) => {
      const { reportStatus } = await import('./run.ts');
      await reportStatus(deploymentOf(words, flags), flags, environment);
    });
  const change = (command: Command, what: Change): Command =>
    withOutput(command).action(async (words: string[], flags: RolloutFlags) => {
      const { changeRollout } = await import('./run.ts');
      await changeRollout(what, deploymentOf(words, flags), flags, environment);
    });
  change(action('pause', 'pause the rollout'), 'pause');
  change(action('resume', 'continue a paused rollout'), 'resume');
  change(
    action('promote', 'skip the soak time of the canaries, or the pause between the batches of the rollout'),
    'promote',
  );
  change(action('restart', 'replace all machines, with the rollout strategy of the deployment'), 'restart');
  change(
    action('undo', 'restore the previous revision, or a given revision').option(
      '--to-revision <revision>',
      'see: mcm rollout history',
      revisionNumber,
      0,
    ),
    'undo',
  );
  const history = rollout.command('history').description('list the revisions; * marks the current revision');
  withOutput(withCluster(history.argument('<deployment...>', NAME)))
    .option('--revision <revision>', 'print the template of the given revision', revisionNumber)
    .action(async (words: string[], flags: HistoryFlags) => {
      const { reportHistory } = await import('./run.ts');
      await reportHistory(deploymentName(words), flags, environment);
    });
}
