import type { MachineClass, MachineDeployment } from '@mcm/api';
import { type Clock, type Meters, makeKey, type Sample } from '@mcm/kube';
import { closedFor, hasWindows } from '../rollout/windows/state.ts';
import { named, type Source } from './sources.ts';

/** The caches and the settings that the metrics of windows need. */
export interface WindowSources {
  readonly deployments: Source<MachineDeployment>;
  readonly safeguards: {
    readonly classes: Source<MachineClass>;
    readonly settings: { readonly rolloutAnnotations: boolean };
  };
  readonly clock: Pick<Clock, 'now'>;
}

type Closed = ReturnType<typeof closedFor>;

const seconds = (time: Date): number => time.getTime() / 1_000;

/** The number of machines with an old template that wait for a window. */
const waiting = ({ status }: MachineDeployment): number =>
  Math.max((status?.replicas ?? 0) - (status?.updatedReplicas ?? 0), 0);

/**
 * Registers the metrics of windows and freezes. Only deployments with windows or freezes have series, so the number of
 * series does not depend on the number of machines. mcm computes the values at each scrape, because mcm receives no
 * event when a window opens.
 */
export function registerWindowMetrics(meters: Meters, { deployments, safeguards, clock }: WindowSources): void {
  const { classes, settings } = safeguards;
  const labels = ['name', 'namespace'];
  function* samples(value: (closed: Closed, deployment: MachineDeployment) => number | undefined): Generator<Sample> {
    if (!settings.rolloutAnnotations) return;
    const now = clock.now();
    for (const deployment of deployments.store.list()) {
      const { metadata, spec } = deployment;
      const ofClass = classes.store.get(makeKey(metadata.namespace, spec.template.spec.class.name ?? ''))?.metadata;
      if (!hasWindows(metadata.annotations) && !hasWindows(ofClass?.annotations)) continue;
      const found = value(closedFor(deployment, ofClass?.annotations, now), deployment);
      if (found !== undefined) yield { labels: named(deployment), value: found };
    }
  }
  meters.observed(
    {
      name: 'mcm_rollout_window_open',
      help: '1 while the windows and freezes of a deployment and its class allow a rollout, 0 while they do not',
      labels,
    },
    () => samples((closed) => (closed === undefined ? 1 : 0)),
  );
  meters.observed(
    {
      name: 'mcm_rollout_window_opens_time_seconds',
      help: 'Time at which the windows and freezes next allow a rollout, in seconds since 1970. The metric is absent while a rollout is allowed, or if the time is unknown',
      labels,
    },
    () => samples((closed) => closed?.opensAt && seconds(closed.opensAt)),
  );
  meters.observed(
    {
      name: 'mcm_rollout_window_waiting_machines',
      help: 'Number of machines with an old template whose rollout waits for a window or for the end of a freeze',
      labels,
    },
    () => samples((closed, deployment) => (closed === undefined ? 0 : waiting(deployment))),
  );
}
