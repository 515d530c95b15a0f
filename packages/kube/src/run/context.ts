import type { KubeClient } from '../contract/client.ts';
import type { Logger } from '../contract/logger.ts';
import type { EventRecorder } from '../contract/recorder.ts';
import type { Fence } from '../election/fence.ts';
import { fencedClient } from '../election/fenced-client.ts';
import { createRecorder } from '../events/create-recorder.ts';
import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import type { RolloutPermit } from '../fleet/budget/permit.ts';
import type { RegionReach } from '../fleet/regions.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { observingClient } from '../observe/client.ts';
import type { ObserveDecisions } from '../observe/decisions.ts';
import type { Clusters } from './cluster/clusters.ts';
import type { BinaryContext } from './definition.ts';
import type { DebugPages } from './health/debug-pages.ts';
import type { Host } from './process/host.ts';
import { type CertificatesInUse, servedCertificate, type Warnings } from './warnings/index.ts';

export interface ContextParts<F extends Flags> {
  readonly name: string;
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly clusters: Clusters;
  readonly host: Pick<Host, 'clock' | 'random'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** In observe mode, the clients record writes here instead of sending them. */
  readonly decisions: ObserveDecisions | undefined;
  readonly pages: DebugPages;
  readonly certificates: CertificatesInUse;
  readonly warnings: Warnings;
  readonly cluster?: string;
  readonly region?: () => RegionReach | undefined;
  readonly controlAnsweredMs?: (() => number | undefined) | undefined;
  readonly rollouts?: RolloutPermit | undefined;
  readonly sized?: ((changeBytes: number) => void) | undefined;
  readonly namespace?: string;
  /** If `fence` is set, the clients send writes only while no other process can be the leader. */
  readonly fence: Fence | undefined;
}

/** Creates the clients and the event recorders. */
export function createContext<F extends Flags>(
  parts: ContextParts<F>,
): {
  readonly context: BinaryContext<F>;
  readonly recorders: readonly EventRecorder[];
} {
  const { name, clusters, log, metrics, decisions, fence } = parts;
  const { clock, random } = parts.host;
  const flags: FlagValues<CommonFlags> = parts.flags;
  const seen = (client: KubeClient): KubeClient => {
    if (decisions !== undefined) return observingClient(client, decisions);
    return fence === undefined ? client : fencedClient(client, fence);
  };
  const controlAs = (component: string): KubeClient => seen(clusters.control.client(component));
  const ofTarget = new WeakSet<KubeClient>();
  const targetAs = (component: string): KubeClient | undefined => {
    const client = clusters.target && seen(clusters.target.client(component));
    if (client !== undefined) ofTarget.add(client);
    return client;
  };
  const recorderOf = (client: KubeClient): EventRecorder =>
    createRecorder({ client, component: name, clock, log, random });
  const events = targetAs('events');
  const recorder = recorderOf(controlAs('events'));
  const targetRecorder = events && recorderOf(events);
  const context: BinaryContext<F> = {
    flags: parts.flags,
    cluster: parts.cluster,
    region: parts.region,
    controlAnsweredMs: parts.controlAnsweredMs,
    rollouts: parts.rollouts,
    sameCluster: clusters.same,
    namespace: parts.namespace ?? flags.namespace,
    control: controlAs('controllers'),
    target: targetAs('controllers'),
    controlAs,
    targetAs,
    observe: decisions,
    fence,
    recorder,
    targetRecorder,
    clock,
    random,
    log,
    metrics,
    pages: parts.pages,
    serving: (what) => servedCertificate(what, parts),
    runtime: {
      clock,
      random,
      log,
      observe: metrics.reflectors,
      sized: parts.sized,
      malformed: (object, sentence, client) =>
        ((ofTarget.has(client) ? targetRecorder : undefined) ?? recorder).event(
          object,
          'Warning',
          'MalformedObject',
          sentence,
          { once: true },
        ),
    },
  };
  return { context, recorders: targetRecorder === undefined ? [recorder] : [recorder, targetRecorder] };
}
