import { type BoardSpec, timeseries } from './board.ts';

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const p95 = (metric: string, by: string): string =>
  `histogram_quantile(0.95, ${rate(`${metric}_bucket`, `le, ${by}`)})`;

export const CONTROLLERS: BoardSpec = {
  uid: 'mcm-controllers',
  title: 'Machine controllers: processes',
  description: 'Queues, requests, caches, memory and event loop of the controllers.',
  variables: [],
  links: [{ uid: 'mcm-machines', title: 'Machines' }],
  rows: [
    {
      title: 'Queues',
      panels: [
        timeseries('Depth', 'short', 'Number of keys in the queue. If a queue only grows, all workers are busy.', [
          'max by (name) (mcm_workqueue_depth)',
          '{{name}}',
        ]),
        timeseries(
          'Wait, 95th percentile',
          's',
          'Time of a key in the queue, from the event to the start of the reconcile.',
          [p95('mcm_workqueue_queue_duration_seconds', 'name'), '{{name}}'],
        ),
        timeseries('Work, 95th percentile', 's', 'Duration of one reconcile.', [
          p95('mcm_workqueue_work_duration_seconds', 'name'),
          '{{name}}',
        ]),
        timeseries('Retries', 'ops', 'Number of failed reconciles. mcm retries each failed reconcile.', [
          rate('mcm_workqueue_retries_total', 'name'),
          '{{name}}',
        ]),
        timeseries(
          'Longest running',
          's',
          'Duration of the longest reconcile in progress. An alert fires if a reconcile takes ten minutes.',
          ['max by (name) (mcm_workqueue_longest_running_processor_seconds)', '{{name}}'],
        ),
        timeseries('Objects in caches', 'short', 'The memory of the process grows with the number of objects.', [
          'max by (pod, container, resource) (mcm_cache_objects)',
          '{{container}} {{resource}}',
        ]),
      ],
    },
    {
      title: 'API servers',
      panels: [
        timeseries(
          'Requests',
          'reqps',
          'HTTP responses by status code. Code 409 is a conflict, and mcm retries. Code 403 is a missing permission.',
          [rate('rest_client_requests_total', 'code, method'), '{{method}} {{code}}'],
        ),
        timeseries('Latency, 95th percentile', 's', 'Response time of the API servers, by verb.', [
          p95('rest_client_request_latency_seconds', 'verb'),
          '{{verb}}',
        ]),
        timeseries(
          'Lists and watches',
          'ops',
          'If a process sends list requests long after its start, a watch was interrupted for a long time.',
          [rate('mcm_reflector_lists_total', 'name'), '{{name}} lists'],
          [rate('mcm_reflector_short_watches_total', 'name'), '{{name}} short watches'],
        ),
        timeseries('Forbidden requests', 'short', 'Requests that RBAC denied, by verb and resource.', [
          'sum by (verb, resource) (increase(rest_client_forbidden_requests_total[$__rate_interval]))',
          '{{verb}} {{resource}}',
        ]),
      ],
    },
    {
      title: 'Processes',
      panels: [
        timeseries(
          'Resident memory',
          'bytes',
          'Memory of each container.',
          ['max by (pod, container) (process_resident_memory_bytes)', '{{pod}} {{container}}'],
          ['max by (pod, container) (nodejs_heap_size_used_bytes)', '{{pod}} {{container}} heap'],
        ),
        timeseries('CPU', 'percentunit', 'CPU seconds per second. The value 1 means one full core.', [
          'sum by (pod, container) (rate(process_cpu_seconds_total[$__rate_interval]))',
          '{{pod}} {{container}}',
        ]),
        timeseries(
          'Event loop delay',
          's',
          'If the 99th percentile of the delay is above one second, a leader may lose its Lease.',
          ['max by (pod, container, quantile) (nodejs_eventloop_delay_seconds)', '{{container}} {{quantile}}'],
        ),
        timeseries('Garbage collection', 's', 'Seconds of garbage collection per second.', [
          rate('nodejs_gc_duration_seconds_sum', 'container, kind'),
          '{{container}} {{kind}}',
        ]),
        timeseries(
          'Time until certificates expire',
          's',
          'Remaining time of each certificate. Certificates are renewed or reloaded automatically.',
          ['min by (what) (certificate_expiration_timestamp_seconds) - time()', '{{what}}'],
        ),
        timeseries(
          'Warnings',
          'short',
          'Problems in the environment of a process, such as versions, permissions, clocks or missing kinds. The log of the process contains the fix.',
          ['max by (kind, subject) (runtime_warning)', '{{kind}} {{subject}}'],
        ),
      ],
    },
  ],
};
