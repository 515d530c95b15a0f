import { createLogger, type Random, realClock } from '@mcm/kube';
import { type Cluster, type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import { explainMachine } from '../explain/machine/machine.ts';
import { machineLines } from '../explain/machine/machine-lines.ts';
import { watchDrains } from './drains.ts';
import { machinePage } from './page/machine-page.ts';
import { type Fleet, overview } from './page/overview.ts';
import type { Page } from './page/page.ts';
import { startDashboard } from './server.ts';
import { followSettings } from './settings.ts';
import { watchFleetSource } from './snapshot.ts';

export type DashboardFlags = ClusterFlags & { readonly port: number };

/** `mcm dashboard`: serves until the signal aborts. */
export const runDashboard = (flags: DashboardFlags, surroundings: CommandSurroundings): Promise<void> =>
  inCluster(flags, 'dashboard', async (cluster) => {
    const signal = surroundings.signal();
    // A server that does not answer at the start is an error. If it fails later, the page shows it.
    await cluster.client.request('GET', '/version', { signal });
    const dashboard = await serveDashboard(cluster, { ...surroundings, signal, port: flags.port });
    surroundings.say(`dashboard of namespace ${cluster.namespace}: ${dashboard.url} (Ctrl-C ends it)`);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await dashboard.close();
  });

/** Watches a cluster and serves its dashboard until the signal aborts. Throws `UserError` when the port is not available. */
export async function serveDashboard(
  { client, target, namespace }: Cluster,
  { random, signal, port }: { readonly random: Random; readonly signal: AbortSignal; readonly port: number },
) {
  const clock = realClock;
  const runtime = { clock, random, log: createLogger({ level: 'warn' }) };
  const source = watchFleetSource({ client, target, namespace, runtime, signal });
  const handlers = new Set<() => void>();
  const changed = (): void => {
    for (const handler of handlers) handler();
  };
  source.onChange(changed);
  const settings = followSettings(client, namespace, { ...runtime, signal, onChange: changed });
  const defaults = () => settings().ofMachines.defaults;
  const drains = watchDrains(source, { target, runtime, signal, onChange: changed, defaults });
  const fleet: Fleet = { namespace, source, drains, settings };
  const pageOf = ({ pathname, searchParams }: URL): Page | undefined => {
    if (pathname === '/') return overview(fleet, searchParams.get('q') ?? '');
    const name = machineOf(pathname);
    if (name === undefined) return undefined;
    return machinePage(fleet, name, async (until) =>
      machineLines(
        await explainMachine({ client, target, namespace, name, clock, random, signal: until }),
        clock.now(),
      ),
    );
  };
  return startDashboard({
    port,
    clock,
    pageOf,
    signal,
    onChange(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
  });
}

/** The name in `/machines/NAME`; undefined if it is not a valid name of an object. */
function machineOf(pathname: string): string | undefined {
  return /^\/machines\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/.exec(pathname)?.[1];
}
