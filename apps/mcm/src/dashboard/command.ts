import { type Command, InvalidArgumentError } from 'commander';
import { withCluster } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import type { DashboardFlags } from './serve.ts';

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '') {
    throw new InvalidArgumentError('The value must be a port from 0 to 65535.');
  }
  return port;
}

/** Adds the options of `mcm dashboard`. */
export const withDashboardOptions = (command: Command): Command =>
  withCluster(
    command
      .option('-A, --all-namespaces', 'show the machines of all namespaces')
      .option(
        '--fleet [labels]',
        'show the clusters of a fleet; problems come first; the labels select namespaces of the seed (default: mcm-fleet)',
      )
      .option(
        '--listen <address>',
        'IP address of the page; users log in with a token of the cluster unless this is a loopback address',
        '127.0.0.1',
      )
      .option('--tls-cert-dir <dir>', 'directory with tls.crt and tls.key for --listen (default: self-signed)')
      .option('--port <port>', 'port of the page; 0: any free port', portNumber, 0),
  );

export function addDashboard(program: Command, environment: CommandEnvironment): void {
  const command = program
    .command('dashboard')
    .description('serve a live, read-only page with machines, rollouts and drains for the browser');
  withDashboardOptions(command).action(async (flags: DashboardFlags) => {
    const { runDashboard } = await import('./serve.ts');
    await runDashboard(flags, environment);
  });
}
