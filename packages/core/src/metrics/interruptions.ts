import type { Meters } from '@mcm/kube';
import type { ObserveNotice } from '../interruption/watcher.ts';

/** The interruption kinds with their own time series, because a driver may report any text as the kind. */
const KINDS: ReadonlySet<string> = new Set(['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance']);

/** Counts the notices of interruptions by kind and outcome. */
export function registerInterruptionMetrics(meters: Meters, provider: string): ObserveNotice {
  const notices = meters.counter({
    name: 'mcm_interruption_notices_total',
    help: 'Number of VM interruption notices that the driver reported, by outcome',
    labels: ['provider', 'kind', 'outcome'],
  });
  return (kind, outcome) => notices({ provider, kind: KINDS.has(kind) ? kind : 'Other', outcome });
}
