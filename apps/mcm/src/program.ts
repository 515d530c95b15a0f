import { stripVTControlCharacters } from 'node:util';
import { Command } from 'commander';
import { addCloud } from './cloud/command.ts';
import { withOutput } from './cluster/cluster-options.ts';
import type { CommandEnvironment } from './command/environment.ts';
import { DEFAULT_DATA_DIR } from './command/environment.ts';
import { addHelp, forTerminals } from './command/help.ts';
import { version } from './command/version.ts';
import { addCompletion } from './completion/command.ts';
import { addConfig } from './config/command.ts';
import { addDashboard } from './dashboard/command.ts';
import { addDebug } from './debug/command.ts';
import { addEvents } from './events/command.ts';
import { addDrain, addExplain } from './explain/command.ts';
import { addFleet } from './fleet/command.ts';
import { addInstall } from './install/command.ts';
import { addJournal } from './journal/command.ts';
import { addLogs } from './logs/command.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { printable } from './output/printable.ts';
import { addPlan } from './plan/command.ts';
import { addProvider } from './provider/command.ts';
import { addRollout } from './rollout/command.ts';
import { addSimulate } from './simulate/command.ts';
import { addTree } from './tree/command.ts';
import { compileUpOptions, type UpFlags } from './up/options.ts';
import { addZone } from './zone/command.ts';

const dataDirOption = [
  '--data-dir <dir>',
  'directory with the stores, logs and kubeconfig of the local instance',
  DEFAULT_DATA_DIR,
] as const;

/** The output functions and the signal of the process. */
export type ProgramEnvironment = Pick<CommandEnvironment, 'say' | 'random' | 'signal'> &
  Partial<Pick<CommandEnvironment, 'draw'>> & { readonly stdout: NodeJS.WriteStream };

/** Creates the program `mcm`. Each command loads its implementation, a `run.ts`, only when the command runs. */
export function createProgram({ stdout, ...given }: ProgramEnvironment): Command {
  const program = forTerminals(new Command('mcm'))
    .description('manages machines for Kubernetes, on a laptop or for any cluster')
    .version(version(), '-V, --version');
  const environment: CommandEnvironment = {
    draw: (text) => text,
    // A warning may contain a text from the cluster, so unsafe characters are replaced.
    warn: (line) => program.configureOutput().writeErr?.(`${printable(line)}\n`),
    ...given,
  };
  const { say } = environment;

  addUp(program, environment, stdout);
  addDown(program, environment);
  addStatus(program, environment);
  addLogs(program, environment);
  addCloud(program, say);
  addRollout(program, environment);
  addZone(program, environment);
  addFleet(program, environment);
  addExplain(program, environment);
  addDrain(program, environment);
  addPlan(program, environment);
  addSimulate(program, environment);
  addTree(program, environment);
  addEvents(program, environment);
  addJournal(program, environment);
  addDebug(program, environment);
  addCompletion(program, say);
  addDashboard(program, environment);
  addInstall(program, environment);
  addProvider(program, say);
  addConfig(program, environment);

  addVersion(program, environment);
  addHelp(program);
  return program;
}

function addUp(program: Command, { random, signal, draw }: CommandEnvironment, stdout: NodeJS.WriteStream): void {
  program
    .command('up')
    .description('start a control plane, a local cloud, both controllers and a first MachineDeployment')
    .option(...dataDirOption)
    .option(
      '--port <port>',
      'port of the control plane on 127.0.0.1 (default: the previous port, or a free port at the first start)',
    )
    .option(
      '--machines <count>',
      'replicas of the first MachineDeployment (default: 3 at the first start, then the previous value)',
    )
    .option(
      '--provider <name>',
      'local, aws, azure or gcp (emulated), or a driver: file, folder or package (default: local, then the previous value)',
    )
    .option(
      '--machine-config',
      'also run the machine-config-controller, with two pools (default: the value of the first start)',
    )
    .option('--exit-when-ready', 'stop when all machines are ready')
    .option('--no-tty', 'print lines and no live screen, even if standard output is a terminal')
    .option('--no-color', 'print no colors, as with the environment variable NO_COLOR')
    .option('--quiet', 'print only the message after all machines are ready')
    .action(async (flags: UpFlags) => {
      const { up } = await import('./up/up.ts');
      await up(compileUpOptions(flags, stdout.isTTY === true && process.env.TERM !== 'dumb'), {
        stdout,
        signal: signal(),
        random,
        draw: flags.color === false ? (text) => draw(stripVTControlCharacters(text)) : draw,
      });
    });
}

function addDown(program: Command, { say }: CommandEnvironment): void {
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

function addStatus(program: Command, { say }: CommandEnvironment): void {
  withOutput(
    program
      .command('status')
      .description('show the status of the instance of a data directory')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const { reportStatus } = await import('./up/status.ts');
    await reportStatus(flags.dataDir, flags.output, say);
  });
}

function addVersion(program: Command, { say }: CommandEnvironment): void {
  withOutput(
    program.command('version').description('print the version; wide also prints the version of Node.js'),
  ).action((flags: { output: OutputFormat }) => {
    const model = { version: version(), node: process.version };
    const lines = formatted(flags.output, model, (reported, wide) => [
      wide ? `${reported.version} on Node.js ${reported.node}` : reported.version,
    ]);
    for (const line of lines) say(line);
  });
}
