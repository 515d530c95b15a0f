import type { Clock } from '../../clock/clock.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';
import type { Clusters } from '../cluster/clusters.ts';
import type { Phase } from '../process/phase.ts';
import type { ExpectedCrd } from '../warnings/crd-fields.ts';
import type { CertificatesInUse } from '../warnings/in-use.ts';
import type { Warnings } from '../warnings/warnings.ts';
import { watchEnvironment } from './watch-environment.ts';

export interface EnvironmentState {
  readonly clusters: Clusters | undefined;
  readonly certificates: CertificatesInUse;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly warnings: Warnings;
  readonly crds: readonly ExpectedCrd[];
  readonly reached: AbortSignal;
}

/** Checks the environment in the background, while the later phases run. */
export const environmentPhase = (state: () => EnvironmentState): Phase => ({
  name: 'environment',
  start: async () => {
    const { clusters, ...rest } = state();
    if (clusters === undefined) return undefined;
    const stop = new AbortController();
    const client = clusters.control.client('environment');
    const watching = watchEnvironment({ ...rest, client }, stop.signal);
    return () => {
      stop.abort(new Error('the process stops'));
      return watching;
    };
  },
});
