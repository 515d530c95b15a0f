import { errorText } from '../../base/error-text.ts';
import type { Host } from '../host.ts';
import type { Phase } from '../phase.ts';
import { type Warnings, warnOfAddress } from '../warnings/index.ts';
import { waitForApiServer } from './api-server.ts';
import type { Cluster } from './clusters.ts';

/** What reaching a cluster needs of its process. */
export interface ReachParts {
  /** Undefined: there is none to reach. */
  readonly cluster: Cluster | undefined;
  readonly host: Pick<Host, 'clock' | 'random'>;
  readonly warnings: Warnings;
  /** Called once its API server has answered as one. */
  readonly reached: () => void;
}

/** Waits for the API server of a cluster, for as long as it takes, and warns of what stands in the way. */
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
