import { constants, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import type { Meters } from './meters.ts';

const seconds = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);

/** The process reads its metrics only at a scrape, so that an idle process needs no CPU time. */
export function registerProcessMetrics(meters: Meters): void {
  const gauge = (name: string, help: string, value: () => number): void =>
    meters.observed({ name, help }, () => [{ value: value() }]);
  const started = Math.round(performance.timeOrigin / 1000);
  meters.counted({ name: 'process_cpu_seconds_total', help: 'User and system CPU time in seconds' }, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge('process_resident_memory_bytes', 'Resident memory in bytes', () => process.memoryUsage.rss());
  gauge('process_start_time_seconds', 'Start time of the process, in seconds since the epoch', () => started);
  gauge('nodejs_heap_size_used_bytes', 'Heap in use in bytes', () => process.memoryUsage().heapUsed);
}

/** The process measures the delay of the event loop five times per second, which is cheap and detects long delays. */
const DELAY_RESOLUTION_MS = 200;
const COLLECTION_BUCKETS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

function kindOf(entry: object): string {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  const kind = typeof detail === 'object' && detail !== null && 'kind' in detail ? Number(detail.kind) : 0;
  return KINDS[kind] ?? 'other';
}

/**
 * Observes the event loop and the garbage collector until the returned function is called. Only binaries call
 * `watchProcess`, because a simulation has many controllers in one process.
 */
export function watchProcess(meters: Meters): () => void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const label = ['quantile'];
  meters.observed(
    {
      name: 'nodejs_eventloop_delay_seconds',
      help: 'Quantiles of the event loop delay since the last scrape, in seconds',
      labels: label,
    },
    () => {
      const lag = (nanoseconds: number): number => Math.max(0, seconds(nanoseconds) - DELAY_RESOLUTION_MS / 1000);
      const samples = [
        { labels: { quantile: '0.5' }, value: lag(delay.percentile(50)) },
        { labels: { quantile: '0.99' }, value: lag(delay.percentile(99)) },
        { labels: { quantile: '1' }, value: lag(delay.max) },
      ];
      delay.reset();
      return samples;
    },
  );
  const collections = meters.histogram(
    { name: 'nodejs_gc_duration_seconds', help: 'Duration of garbage collections, by kind', labels: ['kind'] },
    COLLECTION_BUCKETS,
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) collections(entry.duration / 1000, { kind: kindOf(entry) });
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    delay.disable();
    observer.disconnect();
  };
}
