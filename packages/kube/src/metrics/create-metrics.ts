import type { Counter, Registry } from 'prom-client';
import { load } from '../base/lazy.ts';
import type { RequestSample } from '../client/exchange.ts';
import type { QueueMetrics } from '../queue/create-controller.ts';
import { createMeters, type Meters } from './meters.ts';
import { registerProcessMetrics } from './process.ts';
import { templated } from './template.ts';

/** Options of the metrics of a binary. */
export interface MetricsOptions {
  /** Prefix of queue and reflector metrics, such as `mcm_`. */
  readonly prefix?: string | undefined;
  readonly process?: boolean;
}

/** The metrics of one process. */
export interface Metrics {
  readonly registry: Registry;
  /** The type of all meters, without types of the library prom-client. */
  readonly meters: Meters;
  readonly queues: QueueMetrics;
  requests(host: string): (sample: RequestSample) => void;
  readonly reflectors: (resource: string, what: 'list' | 'watch' | 'shortWatch', items: number) => void;
  caches(sizes: () => ReadonlyMap<string, number>): void;
  malformed(counts: () => ReadonlyMap<string, number>): void;
  scrape(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The bounds of the queue metrics, from 1e-8 s to 10 s, as in client-go. */
const QUEUE_BUCKETS = Array.from({ length: 10 }, (_, i) => 10 ** (i - 8));
/** The bounds of the request metrics, from 1 ms to 512 ms, as in the client of the original. */
const REQUEST_BUCKETS = Array.from({ length: 10 }, (_, i) => 0.001 * 2 ** i);

type Prometheus = typeof import('prom-client');

function createQueueMetrics(
  { Counter, Gauge, Histogram }: Prometheus,
  registry: Registry,
  prefix: string,
): QueueMetrics {
  const name = (rest: string): string => `${prefix}workqueue_${rest}`;
  const common = { labelNames: ['name' as const], registers: [registry] };
  const queues = new Map<string, Parameters<QueueMetrics>[1]>();
  const collected = (rest: string, help: string, value: (gauges: Parameters<QueueMetrics>[1]) => number): void => {
    new Gauge({
      name: name(rest),
      help,
      ...common,
      collect() {
        for (const [queue, gauges] of queues) this.set({ name: queue }, value(gauges));
      },
    });
  };
  collected('depth', 'Current depth of the queue', (gauges) => gauges.depth());
  collected('unfinished_work_seconds', 'Total running time of all reconciles in progress, in seconds', (gauges) =>
    gauges.runningForMs().reduce((sum, ms) => sum + ms / 1000, 0),
  );
  collected(
    'longest_running_processor_seconds',
    'Duration in seconds of the longest reconcile in progress',
    (gauges) => Math.max(0, ...gauges.runningForMs()) / 1000,
  );
  const adds = new Counter({
    name: name('adds_total'),
    help: 'Number of keys that were added to the queue',
    ...common,
  });
  const retries = new Counter({
    name: name('retries_total'),
    help: 'Number of keys that the controller added again after a failure',
    ...common,
  });
  const waited = new Histogram({
    name: name('queue_duration_seconds'),
    help: 'Time in seconds that a key waited in the queue',
    buckets: QUEUE_BUCKETS,
    ...common,
  });
  const worked = new Histogram({
    name: name('work_duration_seconds'),
    help: 'Duration of a reconcile, in seconds',
    buckets: QUEUE_BUCKETS,
    ...common,
  });
  return (queue, gauges) => {
    queues.set(queue, gauges);
    const labels = { name: queue };
    const [added, retried] = [adds.labels(labels), retries.labels(labels)];
    const [started, finished] = [waited.labels(labels), worked.labels(labels)];
    return {
      added: () => added.inc(),
      retried: () => retried.inc(),
      started: (ms) => started.observe(ms / 1000),
      finished: (ms) => finished.observe(ms / 1000),
    };
  };
}

function createReflectorMetrics(
  { Counter, Gauge }: Prometheus,
  registry: Registry,
  prefix: string,
): Metrics['reflectors'] {
  const counter = (rest: string, help: string): Counter<'name'> =>
    new Counter({ name: `${prefix}reflector_${rest}`, help, labelNames: ['name'], registers: [registry] });
  const lists = counter('lists_total', 'Number of list requests, by resource');
  const watches = counter('watches_total', 'Number of watch requests, by resource');
  const shortWatches = counter('short_watches_total', 'Number of watches that the server ended immediately');
  const items = new Gauge({
    name: `${prefix}reflector_items_per_list`,
    help: 'Number of items in the most recent list',
    labelNames: ['name'],
    registers: [registry],
  });
  return (resource, what, count) => {
    const labels = { name: resource };
    if (what === 'list') {
      lists.inc(labels);
      items.set(labels, count);
    } else if (what === 'watch') watches.inc(labels);
    else shortWatches.inc(labels);
  };
}

function createRequestMetrics({ Counter, Histogram }: Prometheus, registry: Registry): Metrics['requests'] {
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Number of requests, by code, method and host',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  });
  const latency = new Histogram({
    name: 'rest_client_request_latency_seconds',
    help: 'Request latency by verb and URL; the URL does not contain names of objects',
    labelNames: ['verb', 'url'],
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  });
  return (host) =>
    ({ method, path, code, ms }) => {
      total.inc({ code: code === 0 ? '<error>' : String(code), method, host });
      latency.observe({ verb: method, url: templated(path) }, ms / 1000);
    };
}

/** Creates a registry with the metrics of queues, reflectors, clients and the process. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const prefix = options.prefix ?? '';
  const prometheus = load('prom-client') as Prometheus;
  const registry = new prometheus.Registry();
  const meters = createMeters(prometheus, registry);
  if (options.process !== false) registerProcessMetrics(meters);
  const byResource = (name: string, help: string, counts: () => ReadonlyMap<string, number>): void =>
    meters.observed({ name: `${prefix}${name}`, help, labels: ['resource'] }, () =>
      [...counts()].map(([resource, value]) => ({ labels: { resource }, value })),
    );
  return {
    registry,
    meters,
    queues: createQueueMetrics(prometheus, registry, prefix),
    reflectors: createReflectorMetrics(prometheus, registry, prefix),
    requests: createRequestMetrics(prometheus, registry),
    caches: (sizes) => byResource('cache_objects', 'Objects in caches', sizes),
    malformed: (counts) =>
      byResource(
        'malformed_objects',
        'Number of cached objects that have a missing field or a field of the wrong type. The log and an event contain the name of the field',
        counts,
      ),
    scrape: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
