import { type BoardSpec, timeseries } from './board.ts';

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const p95 = (metric: string, by: string): string =>
  `histogram_quantile(0.95, ${rate(`${metric}_bucket`, `le, ${by}`)})`;

/** The processes themselves: what somebody looks at when the controllers are slow or restart. */
export const CONTROLLERS: BoardSpec = {
  uid: 'mcm-controllers',
  title: 'Machine controllers: processes',
  description: 'Queues, requests, caches, memory and event loop of the controllers.',
  variables: [],
  rows: [
    {
      title: 'Queues',
      panels: [
        timeseries('Depth', 'short', 'Keys that wait. One that only grows has no workers left.', [
          'max by (name) (mcm_workqueue_depth)',
          '{{name}}',
        ]),
        timeseries('Wait, 95th percentile', 's', 'From the event to the worker.', [
          p95('mcm_workqueue_queue_duration_seconds', 'name'),
          '{{name}}',
        ]),
        timeseries('Work, 95th percentile', 's', 'One reconcile.', [
          p95('mcm_workqueue_work_duration_seconds', 'name'),
          '{{name}}',
        ]),
        timeseries('Retries', 'ops', 'Reconciles that failed and come again.', [
          rate('mcm_workqueue_retries_total', 'name'),
          '{{name}}',
        ]),
        timeseries('Longest running', 's', 'More than ten minutes is an alert.', [
          'max by (name) (mcm_workqueue_longest_running_processor_seconds)',
          '{{name}}',
        ]),
        timeseries('Objects in caches', 'short', 'What memory grows with.', [
          'max by (pod, container, resource) (mcm_cache_objects)',
          '{{container}} {{resource}}',
        ]),
      ],
    },
    {
      title: 'API servers',
      panels: [
        timeseries('Requests', 'reqps', 'By code; 409 is a race that is tried again, 403 a right that is missing.', [
          rate('rest_client_requests_total', 'code, method'),
          '{{method}} {{code}}',
        ]),
        timeseries('Latency, 95th percentile', 's', 'How long the API servers took to answer, by verb.', [
          p95('rest_client_request_latency_seconds', 'verb'),
          '{{verb}}',
        ]),
        timeseries(
          'Lists and watches',
          'ops',
          'Lists after the start mean that a watch was lost for long.',
          [rate('mcm_reflector_lists_total', 'name'), '{{name}} lists'],
          [rate('mcm_reflector_short_watches_total', 'name'), '{{name}} short watches'],
        ),
        timeseries('Refused for want of rights', 'short', 'Verb and resource that a role lacks.', [
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
          'Of each container.',
          ['max by (pod, container) (process_resident_memory_bytes)', '{{pod}} {{container}}'],
          ['max by (pod, container) (nodejs_heap_size_used_bytes)', '{{pod}} {{container}} heap'],
        ),
        timeseries('CPU', 'percentunit', 'Seconds of CPU a second: 1 is a whole core.', [
          'sum by (pod, container) (rate(process_cpu_seconds_total[$__rate_interval]))',
          '{{pod}} {{container}}',
        ]),
        timeseries('Event loop delay', 's', 'More than a second at the 99th percentile may cost the lease.', [
          'max by (pod, container, quantile) (nodejs_eventloop_delay_seconds)',
          '{{container}} {{quantile}}',
        ]),
        timeseries('Garbage collection', 's', 'Seconds a second.', [
          rate('nodejs_gc_duration_seconds_sum', 'container, kind'),
          '{{container}} {{kind}}',
        ]),
        timeseries('Certificates end in', 's', 'From now; they are renewed or read again by themselves.', [
          'min by (what) (certificate_expiration_timestamp_seconds) - time()',
          '{{what}}',
        ]),
        timeseries(
          'Warnings',
          'short',
          'What is wrong around a process: versions, rights, clocks, kinds. Its log says how to mend it.',
          ['max by (kind, subject) (runtime_warning)', '{{kind}} {{subject}}'],
        ),
      ],
    },
  ],
};
