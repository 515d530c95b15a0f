import { type Node, nodes, type Random, realClock } from '@mcm/kube';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cluster, ClusterFlags } from './cluster.ts';
import { inCluster, nameOf, reference, withCluster, withOutput } from './cluster-options.ts';
import { addDashboard } from './dashboard/command.ts';
import { readFully } from './deployment-reading.ts';
import { UserError } from './errors.ts';
import { deploymentLines, explainDeployment } from './explain/deployment.ts';
import { explainMachine, linesOfDrain, type MachineTarget, previewMachineDrain } from './explain/machine.ts';
import { readManagerSettings } from './explain/manager-settings.ts';
import { addInspectCommands } from './inspect-commands.ts';
import { addInstall } from './install/command.ts';
import { eachFormatted, formatted, type OutputFormat, sectionsOf } from './output/format.ts';
import { addPlan } from './plan/command.ts';
import { pause, restart, resume, type Target, undo } from './rollout/actions.ts';
import { history, revisionTemplate } from './rollout/history.ts';
import { followStatus, type RolloutState } from './rollout/status.ts';

/** What the commands that talk to a cluster need of their process. */
export interface CommandSurroundings {
  readonly say: (line: string) => void;
  readonly random: Random;
  /** A signal that aborts when the user wants the command to end. */
  readonly signal: () => AbortSignal;
}

/** Adds `rollout`, `explain`, `drain`, `plan`, `tree`, `events` and `completion` to the program. They work against any cluster. */
export function addClusterCommands(program: Command, surroundings: CommandSurroundings): void {
  addRollout(program, surroundings);
  addExplain(program, surroundings);
  addDrain(program, surroundings);
  addPlan(program, surroundings);
  addInspectCommands(program, surroundings.say);
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
        const well = await followStatus(target, tell, { follow: flags.watch, signal: signal() });
        process.exitCode = well ? 0 : 1;
      }),
    );
  action('pause', 'stop the rollout where it is').action((name: string, flags: ClusterFlags) =>
    on(flags, name, async (target) => say(await pause(target))),
  );
  action('resume', 'let a paused rollout go on').action((name: string, flags: ClusterFlags) =>
    on(flags, name, async (target) => say(await resume(target))),
  );
  action('restart', 'replace every machine by the rules of the strategy').action((name: string, flags: ClusterFlags) =>
    on(flags, name, async (target) => say(await restart(target))),
  );
  action('undo', 'go back to the revision before, or to a given one')
    .option('--to-revision <revision>', 'see: mcm rollout history', revisionNumber, 0)
    .action((name: string, flags: ClusterFlags & { toRevision: number }) =>
      on(flags, name, async (target) => say(await undo(target, flags.toRevision))),
    );
  withOutput(action('history', 'list the revisions, the present one with a *'))
    .option('--revision <revision>', 'print the template of one', revisionNumber)
    .action((name: string, flags: ClusterFlags & { revision?: number; output: OutputFormat }) =>
      on(flags, name, async (target) => {
        const { revision, output } = flags;
        if (revision !== undefined) return say((await revisionTemplate(target, revision)).trimEnd());
        for (const line of await history(target, output)) say(line);
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
    const lines = await explainMachine(machineTarget(cluster, name, surroundings));
    return formatted(output, { kind, namespace, name, sections: sectionsOf(lines) }, () => lines);
  }
  if (kind !== 'MachineDeployment') {
    throw new UserError(`cannot explain "${text}"; write machinedeployment/NAME or machine/NAME`);
  }
  const reading = await readFully(cluster.client, namespace, name);
  const manager = await readManagerSettings(cluster.client, namespace);
  const { items } = await cluster.target.resource<Node>(nodes).list();
  const now = realClock.now();
  const explanation = explainDeployment(reading, now, items, manager);
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
  signal: surroundings.signal(),
});

function addDrain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description('say what a drain of a machine does, or would do if it were deleted now; changes nothing')
        .argument('<machine>', 'its name, or machine/NAME')
        .requiredOption('--preview', 'the only thing that this command does; machines are drained by deleting them'),
    ),
  ).action((text: string, flags: ClusterFlags & { output: OutputFormat }) =>
    inCluster(flags, 'drain', async (cluster) => {
      const name = nameOf('Machine', text);
      const { machine, drain } = await previewMachineDrain(machineTarget(cluster, name, surroundings));
      const lines = () => linesOfDrain(machine, drain, realClock.now());
      const { namespace } = cluster;
      for (const line of formatted(flags.output, { namespace, machine: name, drain: drain ?? null }, lines))
        surroundings.say(line);
    }),
  );
}
