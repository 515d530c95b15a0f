import { errorText } from '../../base/error-text.ts';
import type { Host } from '../process/host.ts';
import type { Phase } from '../process/phase.ts';
import { type Warnings, warnOfAddress } from '../warnings/index.ts';
import { waitForApiServer } from './api-server.ts';
import type { Cluster } from './clusters.ts';

export interface ReachParts {
  readonly cluster: Cluster | undefined;
  readonly host: Pick<Host, 'clock' | 'random'>;
  readonly warnings: Warnings;
  readonly reached: () => void;
}

/** Waits without a time limit for the API server of a cluster. */
export const reachPhase = (name: 'control' | 'target', parts: () => ReachParts): Phase => ({
  name: `${name}-api-server`,
  start: async (signal, report) => {
    const { cluster, host, warnings, reached } = parts();
    if (cluster === undefined) return undefined;
    const { server, source } = cluster;
    const failed = (error: unknown): void => {
      report(errorText(error));
      warnOfAddress({ name, server, source }, error, warnings);
    };
    await waitForApiServer(cluster.client('startup'), { clock: host.clock, random: host.random, signal, failed });
    warnings.clear('api-server', name);
    reached();
    return undefined;
  },
});
