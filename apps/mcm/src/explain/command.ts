import type { Command } from 'commander';
import {
  inFleetCluster,
  kindOf,
  objectText,
  withCluster,
  withFleetCluster,
  withOutput,
  withSelector,
  withWatch,
} from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import type { DrainFlags, Explained, ExplainFlags } from './run.ts';

/**
 * Returns the objects to explain: one object, or the objects of a selector.
 * @throws UserError if the arguments contain both a name and a selector, or neither
 */
export function explainedBy(words: readonly string[], selector: string | undefined): Explained {
  if (selector === undefined) {
    if (words.length > 0) return { text: objectText(words) };
    throw new UserError('no object is given; write machinedeployment/NAME or machine/NAME, or --selector with labels');
  }
  const [word = 'machinedeployments', ...more] = words;
  const kind = more.length === 0 ? kindOf(word) : undefined;
  if (kind === 'MachineDeployment' || kind === 'Machine') return { kind, selector };
  throw new UserError('a name cannot be used together with --selector; write machinedeployments or machines');
}

export function addExplain(program: Command, environment: CommandEnvironment): void {
  const explain = program
    .command('explain')
    .description('explain the state of machinedeployments or machines, with the cause of a wait and possible fixes')
    .argument(
      '[object...]',
      'machinedeployment/NAME or machine/NAME; a space may replace the slash. In a fleet: CLUSTER/TYPE/NAME. With --selector: machines or machinedeployments',
    );
  withOutput(withFleetCluster(withCluster(withWatch(withSelector(explain, 'objects'))))).action(
    async (words: string[], flags: ExplainFlags) => {
      const [word = '', ...more] = words;
      const within = more.length === 0 ? inFleetCluster(word) : undefined;
      const explained = explainedBy(within === undefined ? words : [within.object], flags.selector);
      const { reportWhy } = await import('./run.ts');
      await reportWhy(explained, within === undefined ? flags : { ...flags, cluster: within.cluster }, environment);
    },
  );
}

/** Adds the command `mcm drain`, which shows a drain and never starts one. */
export function addDrain(program: Command, environment: CommandEnvironment): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description(
          'show the drain of a machine in deletion, or preview the drain of another machine; changes nothing',
        )
        .argument('<machine...>', 'name of the machine, or machine/NAME')
        .option('--preview', 'also accept a machine that is not in deletion, and show the effect of its drain'),
    ),
  ).action(async (words: string[], flags: DrainFlags) => {
    const { reportDrain } = await import('./run.ts');
    await reportDrain(objectText(words), flags, environment);
  });
}
