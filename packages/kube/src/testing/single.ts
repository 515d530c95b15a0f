import { runElected } from '../election/run-elected.ts';
import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import { createContext } from '../run/context.ts';
import type { BinaryDefinition } from '../run/definition.ts';
import { DebugPages } from '../run/health/debug-pages.ts';
import { UnitRunner } from '../run/units.ts';
import { workUntil } from '../run/work.ts';
import { type FleetTestOptions, playedProcess } from './fleet.ts';

/** The parts of a process for one cluster that the test provides. */
export interface SingleTestOptions extends FleetTestOptions {
  readonly target: string;
}

/** Runs a process for one cluster, without sockets or files. */
export async function runSingle<const F extends Flags>(
  definition: BinaryDefinition<F>,
  options: SingleTestOptions,
): Promise<void> {
  const { log, signal } = options;
  const { host, flags, metrics, warnings, certificates, connect } = await playedProcess(definition, options);
  const common: FlagValues<CommonFlags> = flags;
  const { clock, random, identity } = host;
  const control = await connect('control', options.kubeconfig);
  const target = await connect('target', options.target);
  const close = async (): Promise<void> => {
    await Promise.all([control.connections.close(), target.connections.close()]);
  };
  const clusters = { control: control.cluster, target: target.cluster, same: false, close };
  const client = control.cluster.urgentClient('leader-election');
  const lease = { namespace: common.namespace, name: definition.leaseName ?? definition.name };
  try {
    await runElected({ client, lease, identity, clock, random, log, signal, follow: true }, async (term, fence) => {
      const shared = { flags, clusters, host, log, metrics, certificates, warnings, fence };
      const { context, recorders } = createContext<F>({
        ...shared,
        name: definition.name,
        decisions: undefined,
        pages: new DebugPages(),
      });
      const runner = new UnitRunner({ units: await definition.units(context), clock, random, log });
      await workUntil(runner, { term, stop: signal, clock }, recorders);
    });
  } finally {
    await close();
  }
}
