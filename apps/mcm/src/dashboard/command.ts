import { type Command, InvalidArgumentError } from 'commander';
import { withCluster } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import type { DashboardFlags } from './serve.ts';

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '') {
    throw new InvalidArgumentError('it must be a port: 0 to 65535.');
  }
  return port;
}

/** Adds `dashboard`: a page for the browser that shows the fleet, live and to read only. */
export function addDashboard(program: Command, surroundings: CommandSurroundings): void {
  withCluster(
    program
      .command('dashboard')
      .description('serve a page for the browser on this machine: deployments, machines and drains, live, to read only')
      .option('--port <port>', 'port on 127.0.0.1; 0 for any free one', portNumber, 0),
  ).action(async (flags: DashboardFlags) => {
    const { runDashboard } = await import('./serve.ts');
    await runDashboard(flags, surroundings);
  });
}
