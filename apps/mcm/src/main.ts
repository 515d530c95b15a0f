#!/usr/bin/env node
import { join } from 'node:path';
import { KubeError, type Random, realClock } from '@mcm/kube';
import { Command } from 'commander';
import { addCloudCommands } from './cloud-commands.ts';
import { addClusterCommands } from './cluster-commands.ts';
import { addConfigCommands } from './config/commands.ts';
import { down } from './down.ts';
import { UserError } from './errors.ts';
import { addProviderCommands } from './provider/new.ts';
import { status, statusLines } from './status.ts';
import { DEFAULT_DATA_DIR } from './up/data-dir.ts';
import { compileUpOptions, type UpFlags } from './up/options.ts';
import { up } from './up/up.ts';
import { version } from './version.ts';

/** A reader that has seen enough, such as `head`, is no fault of anybody's. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const random: Random = { next: Math.random };
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Aborts at the first SIGINT, SIGTERM or hang-up; a second one ends the process at once. */
function untilSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort(new Error(`received ${name}`));
    });
  }
  return controller.signal;
}

/** What a user can mend, and what a server refused, is one sentence; anything else is a fault of ours and comes with its stack. */
function describe(error: unknown): string {
  if (error instanceof UserError || error instanceof KubeError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const dataDirOption = ['--data-dir <dir>', 'where stores, logs and the kubeconfig are', DEFAULT_DATA_DIR] as const;

const program = new Command('mcm')
  .description('Machines for Kubernetes, on a laptop and beside any cluster')
  .version(version(), '-V, --version')
  .showHelpAfterError();

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
    await up(compileUpOptions(flags, process.stdout.isTTY === true), {
      stdout: process.stdout,
      signal: untilSignal(),
      random,
    });
  });

program
  .command('down')
  .description('stop the instance that runs on a data directory')
  .option(...dataDirOption)
  .action(async (flags: { dataDir: string }) => {
    say((await down(flags.dataDir, realClock)) ? 'stopped' : 'not running');
  });

program
  .command('status')
  .description('say how the instance on a data directory is')
  .option(...dataDirOption)
  .action(async (flags: { dataDir: string }) => {
    const report = await status(flags.dataDir, join(flags.dataDir, 'kubeconfig'));
    for (const line of statusLines(report)) say(line);
    process.exitCode = report.running ? 0 : 3;
  });

addCloudCommands(program, say);
addClusterCommands(program, { say, random, signal: untilSignal });

addProviderCommands(program, say);
addConfigCommands(program, say);

program
  .command('version')
  .description('print the version')
  .action(() => say(version()));

// The clock's timers keep no process alive; a command that waits for one does.
setInterval(() => undefined, 2 ** 30);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`mcm: ${describe(error)}\n`);
  process.exitCode = 1;
}
// Keep-alive sockets and watches must not hold the process once its work is done.
process.exit(process.exitCode ?? 0);
