import { join } from 'node:path';
import { realClock } from '@mcm/kube';
import { Command } from 'commander';
import { addCloudCommands } from './cloud-commands.ts';
import { addClusterCommands, type CommandSurroundings } from './cluster-commands.ts';
import { withOutput } from './cluster-options.ts';
import { addConfigCommands } from './config/commands.ts';
import { down } from './down.ts';
import { NOT_RUNNING } from './exit-codes.ts';
import { addHelp } from './help.ts';
import { addLogs } from './logs/command.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { addProviderCommands } from './provider/new.ts';
import { status, statusLines, statusModel } from './status.ts';
import { DEFAULT_DATA_DIR } from './up/data-dir.ts';
import { compileUpOptions, type UpFlags } from './up/options.ts';
import { version } from './version.ts';

const dataDirOption = ['--data-dir <dir>', 'where stores, logs and the kubeconfig are', DEFAULT_DATA_DIR] as const;

/** The `mcm` command with all that it can do. It touches the process only when a command is carried out. */
export function createProgram({
  say,
  random,
  signal,
  stdout,
  draw = (text) => text,
}: CommandSurroundings & { readonly stdout: NodeJS.WriteStream }): Command {
  const program = new Command('mcm')
    .description('Machines for Kubernetes, on a laptop and beside any cluster')
    .version(version(), '-V, --version');

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
      // With all that runs a cluster on a laptop, which no other command needs.
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
    const stopped = await down(flags.dataDir, realClock);
    for (const line of formatted(flags.output, { stopped }, () => [stopped ? 'stopped' : 'not running'])) say(line);
  });

  withOutput(
    program
      .command('status')
      .description('say how the instance on a data directory is')
      .option(...dataDirOption),
  ).action(async (flags: { dataDir: string; output: OutputFormat }) => {
    const report = await status(flags.dataDir, join(flags.dataDir, 'kubeconfig'));
    const lines = formatted(flags.output, statusModel(report), () => statusLines(report));
    for (const line of lines) say(line);
    process.exitCode = report.running ? 0 : NOT_RUNNING;
  });

  addLogs(program, { say, signal });
  addCloudCommands(program, say);
  addClusterCommands(program, { say, random, signal, draw });

  addProviderCommands(program, say);
  addConfigCommands(program, say);

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
