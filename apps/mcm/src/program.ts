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

const dataDirOption = ['--data-dir <dir>', 'where stores, logs and the kubeconfig are', DEFAULT_DATA_DIR] as const;

/** What the program needs of its process. */
export type ProgramSurroundings = Pick<CommandSurroundings, 'say' | 'random' | 'signal'> &
  Partial<Pick<CommandSurroundings, 'draw'>> & { readonly stdout: NodeJS.WriteStream };

/**
 * The `mcm` command with all that it can do. It touches the process only when a command is carried out, and loads only then what
 * carries it out: here stand words and flags, in each `run.ts` what they do.
 */
export function createProgram({ stdout, ...given }: ProgramSurroundings): Command {
  const program = new Command('mcm')
    .description('Machines for Kubernetes, on a laptop and beside any cluster')
    .version(version(), '-V, --version');
  const surroundings: CommandSurroundings = {
    draw: (text) => text,
    warn: (line) => program.configureOutput().writeErr?.(`${line}\n`),
    ...given,
  };
  const { say, random, signal, draw } = surroundings;

  program
    .command('up')
    .description('bring up a control plane, a cloud on this machine, both controllers and a first fleet')
    .option(...dataDirOption)
    .option('--port <port>', 'port of the control plane on 127.0.0.1 (default: the one used last, else any free one)')
    .option(
      '--machines <count>',
      'machines that the first MachineDeployment asks for (default: 3 at the first start, unchanged later)',
    )
    .option(
      '--provider <name>',
      "whose cloud: local, or aws, azure or gcp on an emulator (default: the directory's, else local)",
    )
    .option(
      '--machine-config',
      'run the machine-config-controller too, with two pools (default: as the directory was made)',
    )
    .option('--exit-when-ready', 'end everything once the fleet is as asked for')
    .option('--no-tty', 'plain lines even on a terminal')
    .option('--quiet', 'say only when the fleet is ready')
    .action(async (flags: UpFlags) => {
      const { up } = await import('./up/up.ts');
      await up(compileUpOptions(flags, stdout.isTTY === true), {
        stdout,
        signal: signal(),
        random,
        draw,
      });
    });

  withOutput(
    program
      .command('down')
      .description('stop the instance that runs on a data directory')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const { down } = await import('./up/down.ts');
    const stopped = await down(flags.dataDir);
    for (const line of formatted(flags.output, { stopped }, () => [stopped ? 'stopped' : 'not running'])) say(line);
  });

  withOutput(
    program
      .command('status')
      .description('say how the instance on a data directory is')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const { tellStatus } = await import('./up/status.ts');
    await tellStatus(flags.dataDir, flags.output, say);
  });

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

  withOutput(program.command('version').description('print the version; wide: with that of Node.js, too')).action(
    (flags: { output: OutputFormat }) => {
      const model = { version: version(), node: process.version };
      const lines = formatted(flags.output, model, (told, wide) => [
        wide ? `${told.version} on Node.js ${told.node}` : told.version,
      ]);
      for (const line of lines) say(line);
    },
  );
  addHelp(program);
  return program;
}
