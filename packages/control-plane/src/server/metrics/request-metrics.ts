import type { ServerRequest, ServerResponse } from '../../apimachinery/http/exchange.ts';
import type { Registry } from '../../resources/registry.ts';

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

const APPLY = 'application/apply-patch+yaml';

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly dryRun: string;
  readonly codes: Map<number, number>;
  /** The number of observations in each bucket. Each observation counts in only one bucket. */
  readonly buckets: number[];
  sum: number;
  open: number;
}

const escaped = (value: string): string => value.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`));

const labelText = (labels: Labels): string =>
  Object.keys(labels)
    .sort()
    .map((name) => `${name}="${escaped(labels[name] ?? '')}"`)
    .join(',');

function* family(name: string, type: string, help: string, samples: Iterable<string>): Generator<string> {
  yield `# HELP ${name} ${help}`;
  yield `# TYPE ${name} ${type}`;
  yield* samples;
}

interface Named {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Running {
  /** A streamed response counts as running until the stream ends. */
  done(response: ServerResponse): ServerResponse;
}

export class RequestMetrics {
  readonly #registry: Registry;
  readonly #series = new Map<string, Series>();
  readonly #inflight = { mutating: 0, readOnly: 0 };

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  begin(request: ServerRequest, named: Named | undefined): Running {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const kind = isRead ? 'readOnly' : 'mutating';
    const start = this.#registry.now().getTime();
    this.#inflight[kind] += 1;
    return {
      done: (response) => {
        this.#inflight[kind] -= 1;
        const series = this.#seriesOf(request, named, isRead);
        series.codes.set(response.status, (series.codes.get(response.status) ?? 0) + 1);
        const { body } = response;
        if (typeof body === 'function') {
          return {
            ...response,
            body: (sink) => {
              series.open += 1;
              sink.onClose(() => {
                series.open -= 1;
              });
              body(sink);
            },
          };
        }
        const seconds = (this.#registry.now().getTime() - start) / 1000;
        const index = BUCKETS.findIndex((bound) => seconds <= bound);
        const bucket = index < 0 ? BUCKETS.length : index;
        series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
        series.sum += seconds;
        return response;
      },
    };
  }

  #seriesOf(request: ServerRequest, named: Named | undefined, isRead: boolean): Series {
    const dryRun = !isRead && request.query.getAll('dryRun').includes('All') ? 'All' : '';
    const labels = this.#labelsOf(request, named);
    const key = `${Object.values(labels).join('/')} ${dryRun}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels, dryRun, codes: new Map(), buckets: [...BUCKETS, 0].map(() => 0), sum: 0, open: 0 };
      this.#series.set(key, series);
    }
    return series;
  }

  /** A request for an unknown resource has no labels, so clients cannot create series with invented names. */
  #labelsOf(request: ServerRequest, named: Named | undefined): Labels {
    const verb = METHODS.has(request.method) ? request.method : 'other';
    if (named === undefined) return { ...NO_RESOURCE, verb };
    const { group, version, resource, namespace, name } = named;
    if (this.#registry.kinds.find(group, version, resource) === undefined) return { ...NO_RESOURCE, verb };
    const subresource = SUBRESOURCES.has(named.subresource) ? named.subresource : '';
    const isObject = name !== '' || request.method === 'POST';
    const scope = isObject ? 'resource' : namespace !== '' ? 'namespace' : 'cluster';
    return {
      component: 'apiserver',
      group,
      resource,
      scope,
      subresource,
      verb: shownVerb(request, named, verb),
      version,
    };
  }

  render(): string {
    return `${[...this.#families()].join('\n')}\n`;
  }

  *#families(): Generator<string> {
    const all = [...this.#series.values()];
    yield* family(
      'apiserver_current_inflight_requests',
      'gauge',
      'Number of requests in progress, by kind.',
      Object.entries(this.#inflight).map(
        ([kind, count]) => `apiserver_current_inflight_requests{request_kind="${kind}"} ${count}`,
      ),
    );
    yield* family(
      'apiserver_longrunning_requests',
      'gauge',
      'Number of open watches.',
      all
        .filter(({ labels }) => labels.verb === 'WATCH')
        .map(({ labels, open }) => `apiserver_longrunning_requests{${labelText(labels)}} ${open}`),
    );
    yield* family(
      'apiserver_request_duration_seconds',
      'histogram',
      'Duration of requests until the response, except watches.',
      all.filter(({ labels }) => labels.verb !== 'WATCH').flatMap(histogramLines),
    );
    yield* family(
      'apiserver_request_total',
      'counter',
      'Number of requests with a response.',
      all.flatMap(({ labels, dryRun, codes }) =>
        [...codes].map(([code, count]) => {
          const text = labelText({ ...labels, dry_run: dryRun, code: String(code) });
          return `apiserver_request_total{${text}} ${count}`;
        }),
      ),
    );
    yield* family(
      'apiserver_resource_objects',
      'gauge',
      'Number of stored objects.',
      this.#counts().map(([labels, count]) => `apiserver_resource_objects{${labels}} ${count}`),
    );
    yield* family('process_cpu_seconds_total', 'counter', 'CPU time of the process in seconds.', [
      `process_cpu_seconds_total ${cpuSeconds()}`,
    ]);
    yield* family('process_resident_memory_bytes', 'gauge', 'Resident memory of the process in bytes.', [
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    ]);
  }

  #counts(): [labels: string, count: number][] {
    const { kinds, store } = this.#registry;
    const counts = new Map<string, number>();
    for (const { resource } of kinds.all()) {
      const [group = '', plural = ''] = resource.split('/');
      counts.set(labelText({ group, resource: plural }), store.count(resource));
    }
    return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

const NO_RESOURCE = {
  component: 'apiserver',
  group: '',
  resource: '',
  scope: '',
  subresource: '',
  version: '',
} as const;
const METHODS: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT']);
const SUBRESOURCES: ReadonlySet<string> = new Set([
  ...['approval', 'attach', 'binding', 'ephemeralcontainers', 'eviction', 'exec', 'finalize', 'log'],
  ...['portforward', 'proxy', 'resize', 'scale', 'status', 'token'],
]);

/** Returns the verb for the metrics of a request, as in kube-apiserver. */
function shownVerb(request: ServerRequest, { verb }: Named, method: string): string {
  if (verb === 'list' || verb === 'watch') return verb.toUpperCase();
  return verb === 'patch' && request.header('content-type')?.startsWith(APPLY) === true ? 'APPLY' : method;
}

function histogramLines({ labels, dryRun, buckets, sum }: Series): string[] {
  const name = 'apiserver_request_duration_seconds';
  const text = labelText({ ...labels, dry_run: dryRun });
  let count = 0;
  const lines = [...BUCKETS, '+Inf'].map((bound, index) => {
    count += buckets[index] ?? 0;
    return `${name}_bucket{${text},le="${bound}"} ${count}`;
  });
  return [...lines, `${name}_sum{${text}} ${sum}`, `${name}_count{${text}} ${count}`];
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
