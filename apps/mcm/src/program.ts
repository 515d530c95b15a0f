import { Command } from 'commander';
import { addCloud } from './cloud/command.ts';
import { withOutput } from './cluster/cluster-options.ts';
import { addHelp } from './command/help.ts';
import type { CommandSurroundings } from './command/surroundings.ts';
import { DEFAULT_DATA_DIR } from './command/surroundings.ts';
import { version } from './command/version.ts';
import { addCompletion } from './completion/command.ts';
import { addConfig } from './config/command.ts';
import { addDashboard } from './dashboard/command.ts';
import { addDebug } from './debug/command.ts';
import { addEvents } from './events/command.ts';
import { addDrain, addExplain } from './explain/command.ts';
import { addInstall } from './install/command.ts';
import { addLogs } from './logs/command.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { addPlan } from './plan/command.ts';
import { addProvider } from './provider/command.ts';
import { addRollout } from './rollout/command.ts';
import { addTree } from './tree/command.ts';
import { compileUpOptions, type UpFlags } from './up/options.ts';

const dataDirOption = ['--data-dir <dir>', 'directory of stores, logs and the kubeconfig', DEFAULT_DATA_DIR] as const;

/** The inputs and outputs of the process. */
export type ProgramSurroundings = Pick<CommandSurroundings, 'say' | 'random' | 'signal'> &
  Partial<Pick<CommandSurroundings, 'draw'>> & { readonly stdout: NodeJS.WriteStream };

/**
 * Creates the `mcm` program. Only a running command uses the process and loads its implementation: this module contains
 * names and flags, and each `run.ts` the implementation.
 */
export function createProgram({ stdout, ...given }: ProgramSurroundings): Command {
  const program = new Command('mcm')
    .description('Machines for Kubernetes, on a laptop and for any cluster')
    .version(version(), '-V, --version');
  const surroundings: CommandSurroundings = {
    draw: (text) => text,
    warn: (line) => program.configureOutput().writeErr?.(`${line}\n`),
    ...given,
  };
  const { say } = surroundings;

  addUp(program, surroundings, stdout);
  addDown(program, surroundings);
  addStatus(program, surroundings);
  addLogs(program, surroundings);
  addCloud(program, say);
  addRollout(program, surroundings);
  addExplain(program, surroundings);
  addDrain(program, surroundings);
  addPlan(program, surroundings);
  addTree(program, surroundings);
  addEvents(program, surroundings);
  addDebug(program, surroundings);
  addCompletion(program, say);
  addDashboard(program, surroundings);
  addInstall(program, surroundings);
  addProvider(program, say);
  addConfig(program, say);

  addVersion(program, surroundings);
  addHelp(program);
  return program;
}

function addUp(program: Command, { random, signal, draw }: CommandSurroundings, stdout: NodeJS.WriteStream): void {
  program
    .command('up')
    .description('start a control plane, a local cloud, both controllers and a first fleet')
    .option(...dataDirOption)
    .option('--port <port>', 'port of the control plane on 127.0.0.1 (default: the last used port, else a free port)')
    .option(
      '--machines <count>',
      'replicas of the first MachineDeployment (default: 3 at the first start, unchanged later)',
    )
    .option(
      '--provider <name>',
      'local; aws, azure, gcp (emulated); or a file, folder or package of a driver (default: as before, else local)',
    )
    .option(
      '--machine-config',
      'also run the machine-config-controller, with two pools (default: as at the first start)',
    )
    .option('--exit-when-ready', 'stop when the fleet has its desired state')
    .option('--no-tty', 'print plain lines even on a terminal')
    .option('--quiet', 'print only when the fleet is ready')
    .action(async (flags: UpFlags) => {
      const { up } = await import('./up/up.ts');
      await up(compileUpOptions(flags, stdout.isTTY === true), {
        stdout,
        signal: signal(),
        random,
        draw,
      });
    });
}

function addDown(program: Command, { say }: CommandSurroundings): void {
  withOutput(
    program
      .command('down')
      .description('stop the instance of a data directory')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const { down } = await import('./up/down.ts');
    const stopped = await down(flags.dataDir);
    for (const line of formatted(flags.output, { stopped }, () => [stopped ? 'stopped' : 'not running'])) say(line);
  });
}

function addStatus(program: Command, { say }: CommandSurroundings): void {
  withOutput(
    program
      .command('status')
      .description('show the status of the instance of a data directory')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const { tellStatus } = await import('./up/status.ts');
    await tellStatus(flags.dataDir, flags.output, say);
  });
}

function addVersion(program: Command, { say }: CommandSurroundings): void {
  withOutput(
    program.command('version').description('print the version; wide also prints the version of Node.js'),
  ).action((flags: { output: OutputFormat }) => {
    const model = { version: version(), node: process.version };
    const lines = formatted(flags.output, model, (told, wide) => [
      wide ? `${told.version} on Node.js ${told.node}` : told.version,
    ]);
    for (const line of lines) say(line);
  });
}
