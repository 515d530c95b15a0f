import { type Random, realClock } from '@mcm/kube';
import { type Command, InvalidArgumentError } from 'commander';
import { readNodes } from './allowed.ts';
import type { Cluster, ClusterFlags } from './cluster.ts';
import { inCluster, nameOf, reference, withCluster, withOutput } from './cluster-options.ts';
import { addDashboard } from './dashboard/command.ts';
import { readWithSurroundings } from './deployment-reading.ts';
import { UserError } from './errors.ts';
import { explainDeployment } from './explain/deployment.ts';
import { deploymentLines } from './explain/deployment-lines.ts';
import { explainMachine, type MachineTarget, previewMachineDrain } from './explain/machine.ts';
import { machineLines, previewLines } from './explain/machine-lines.ts';
import { readMachineSettings } from './explain/machine-settings.ts';
import { readManagerSettings } from './explain/manager-settings.ts';
import { addInspectCommands } from './inspect-commands.ts';
import { addInstall } from './install/command.ts';
import { eachFormatted, formatted, type OutputFormat } from './output/format.ts';
import { addPlan } from './plan/command.ts';
import { type Done, pause, restart, resume, type Target, undo } from './rollout/actions.ts';
import { history, revisionTemplate } from './rollout/history.ts';
import { followStatus, type RolloutState } from './rollout/status.ts';

/** What the commands that talk to a cluster need of their process. */
export interface CommandSurroundings {
  readonly say: (line: string) => void;
  readonly random: Random;
  /** A signal that aborts when the user wants the command to end. */
  readonly signal: () => AbortSignal;
  /** What the terminal is shown of a text that is drawn with signs; default: the text. */
  readonly draw?: (text: string) => string;
}

/** Adds `rollout`, `explain`, `drain`, `plan`, `tree`, `events` and `completion` to the program. They work against any cluster. */
export function addClusterCommands(program: Command, surroundings: CommandSurroundings): void {
  addRollout(program, surroundings);
  addExplain(program, surroundings);
  addDrain(program, surroundings);
  addPlan(program, surroundings);
  addInspectCommands(program, surroundings.say, surroundings.draw ?? ((text) => text));
  addDashboard(program, surroundings);
  addInstall(program, surroundings.say, surroundings.signal);
}

const deploymentName = (text: string): string => nameOf('MachineDeployment', text);

function revisionNumber(text: string): number {
  const revision = Number(text);
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new InvalidArgumentError(`"${text}" is no revision; write an integer of 0 or more, 0 being the one before`);
  }
  return revision;
}

type ChangeFlags = ClusterFlags & { readonly output: OutputFormat; readonly toRevision?: number };

function addRollout(program: Command, { say, signal }: CommandSurroundings): void {
  const rollout = program.command('rollout').description('look after the rollout of a MachineDeployment');
  const action = (name: string, description: string): Command =>
    withCluster(rollout.command(name).description(description).argument('<deployment>', 'its name', deploymentName));
  const on = (flags: ClusterFlags, name: string, work: (target: Target) => Promise<void>): Promise<void> =>
    inCluster(flags, 'rollout', ({ client, namespace }) => work({ client, namespace, name, clock: realClock }));

  withOutput(action('status', 'say where the rollout is, until it is complete (exit status 0) or has failed (1)'))
    .option('--no-watch', 'say it once')
    .action((name: string, flags: ClusterFlags & { watch: boolean; output: OutputFormat }) =>
      on(flags, name, async (target) => {
        const tell = (state: RolloutState): void => {
          for (const line of eachFormatted(flags.output, { name, ...state }, state.text)) say(line);
        };
        const until = signal();
        const well = await followStatus(target, tell, { follow: flags.watch, signal: until });
        // Whoever stops looking has not seen it fail.
        until.throwIfAborted();
        process.exitCode = well ? 0 : 1;
      }),
    );
  const change = (command: Command, act: (target: Target, flags: ChangeFlags) => Promise<Done>): Command =>
    withOutput(command).action((name: string, flags: ChangeFlags) =>
      on(flags, name, async (target) => {
        for (const line of formatted(flags.output, await act(target, flags), ({ text }) => [text])) say(line);
      }),
    );
  change(action('pause', 'stop the rollout where it is'), pause);
  change(action('resume', 'let a paused rollout go on'), resume);
  change(action('restart', 'replace every machine by the rules of the strategy'), restart);
  change(
    action('undo', 'go back to the revision before, or to a given one').option(
      '--to-revision <revision>',
      'see: mcm rollout history',
      revisionNumber,
      0,
    ),
    (target, { toRevision = 0 }) => undo(target, toRevision),
  );
  withOutput(action('history', 'list the revisions, the present one with a *'))
    .option('--revision <revision>', 'print the template of one', revisionNumber)
    .action((name: string, flags: ClusterFlags & { revision?: number; output: OutputFormat }) =>
      on(flags, name, async (target) => {
        const { revision, output } = flags;
        const lines = await (revision === undefined
          ? history(target, output)
          : revisionTemplate(target, revision, output));
        for (const line of lines) say(line);
      }),
    );
}

function addExplain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('explain')
        .description('say why a machinedeployment or machine is where it is, what it waits for, and what would help')
        .argument('<object>', 'machinedeployment/NAME or machine/NAME'),
    ),
  ).action((text: string, flags: ClusterFlags & { output: OutputFormat }) =>
    inCluster(flags, 'explain', async (cluster) => {
      for (const line of await explain(cluster, text, flags.output, surroundings)) surroundings.say(line);
    }),
  );
}

async function explain(
  cluster: Cluster,
  text: string,
  output: OutputFormat,
  surroundings: CommandSurroundings,
): Promise<string[]> {
  const { kind, name } = reference(text);
  const { namespace } = cluster;
  if (kind === 'Machine') {
    const explanation = await explainMachine(machineTarget(cluster, name, surroundings));
    return formatted(output, explanation, () => machineLines(explanation, realClock.now()));
  }
  if (kind !== 'MachineDeployment') {
    throw new UserError(`cannot explain "${text}"; write machinedeployment/NAME or machine/NAME`);
  }
  const { client } = cluster;
  const unread = new Set<string>();
  const [reading, manager, ofMachines, all] = await Promise.all([
    readWithSurroundings(client, namespace, name, unread),
    readManagerSettings(client, namespace),
    readMachineSettings(client, namespace),
    readNodes(cluster.target, unread),
  ]);
  const now = realClock.now();
  const explanation = { ...explainDeployment(reading, now, all, manager, ofMachines), unread: [...unread] };
  return formatted(output, { kind, namespace, ...explanation }, () => deploymentLines(explanation, now));
}

const machineTarget = (
  { client, target, namespace }: Cluster,
  name: string,
  surroundings: CommandSurroundings,
): MachineTarget => ({
  client,
  target,
  namespace,
  name,
  clock: realClock,
  random: surroundings.random,
  // It only reads: a signal ends the process, and nothing has to be put in order.
  signal: new AbortController().signal,
});

function addDrain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description('say what a drain of a machine does, or would do if it were deleted now; changes nothing')
        .argument('<machine>', 'its name, or machine/NAME')
        // Not required in the parser's sense: that would hide a flag that is misspelt.
        .option('--preview', 'the only thing that this command does; machines are drained by deleting them'),
    ),
  ).action((text: string, flags: ClusterFlags & { output: OutputFormat; preview?: true }) => {
    if (flags.preview === undefined)
      throw new UserError('--preview is missing: this command only looks; machines are drained by deleting them');
    return inCluster(flags, 'drain', async (cluster) => {
      const name = nameOf('Machine', text);
      const preview = await previewMachineDrain(machineTarget(cluster, name, surroundings));
      const { drain = null, remarks } = preview;
      const model = { namespace: cluster.namespace, machine: name, drain, remarks };
      for (const line of formatted(flags.output, model, () => previewLines(preview, realClock.now())))
        surroundings.say(line);
    });
  });
}
