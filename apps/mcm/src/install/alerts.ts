/** A rule of Prometheus that wakes somebody or opens a ticket. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

/** Where the runbooks are, from wherever the documentation is served. */
const RUNBOOKS = 'docs/runbooks';

const alert = (
  name: string,
  severity: 'critical' | 'warning',
  lasts: string,
  expr: string,
  summary: string,
): Alert => ({
  alert: name,
  expr,
  for: lasts,
  labels: { severity },
  annotations: { summary, runbook_url: `${RUNBOOKS}/${name}.md` },
});

/** Rises of a counter; of one that appeared in the time, all it has: what makes a series, its first rise, `increase` does not see. */
const rises = (counter: string, time: string): string =>
  `((${counter} unless ${counter} offset ${time}) or increase(${counter}[${time}]))`;

/** Not found, not implemented and not yet initialised are answers. */
const CALLS_FAILED = 'mcm_cloud_api_driver_requests_failed_total{error_code!~"5|12|17"}';
const CALLS_WORKED = 'mcm_cloud_api_driver_request_duration_seconds_count';
/** Calls of an operation, whatever becomes of them. */
const ALL_CALLS = `sum by (provider, operation) (${rises(CALLS_FAILED, '1h')} or ${rises(CALLS_WORKED, '1h')})`;
const byCode = (rising: string): string => `sum by (provider, operation, error_code) (${rising})`;

/** What an operator is told, each with a page of what to do. */
export const ALERTS: readonly Alert[] = [
  alert(
    'McmDown',
    'critical',
    '10m',
    'absent(mcm_machine_deployment_items_total) or absent(mcm_machine_items_total)',
    'No machine-controller-manager or no machine controller is scraped: machines are neither made nor healed.',
  ),
  alert(
    'McmMachineControllerFrozen',
    'critical',
    '10m',
    'max by (namespace) (mcm_machine_controller_frozen) == 1',
    'An API server is out of reach of the machine controller: machines are not judged.',
  ),
  alert(
    'McmReplacementHeld',
    'critical',
    '15m',
    'max by (namespace, name) (mcm_machine_deployment_status_condition{condition="ReplacementHeld"} == 1) > 0',
    'So many machines of {{ $labels.namespace }}/{{ $labels.name }} fell silent together that none is replaced.',
  ),
  alert(
    'McmSetFrozen',
    'warning',
    '15m',
    'max by (namespace, name) (mcm_machine_set_status_condition{condition="Frozen"} == 1) > 0',
    'Machine set {{ $labels.namespace }}/{{ $labels.name }} has far more machines than it asks for and is frozen.',
  ),
  alert(
    'McmDeploymentUnavailable',
    'warning',
    '30m',
    'max by (namespace, name) (mcm_machine_deployment_status_condition{condition="Available"} == 0) == 0',
    'Machine deployment {{ $labels.namespace }}/{{ $labels.name }} has too few available machines.',
  ),
  alert(
    'McmRolloutStuck',
    'warning',
    '15m',
    'max by (namespace, name) (mcm_machine_deployment_status_condition{condition="Progressing"} == 0) == 0',
    'The rollout of {{ $labels.namespace }}/{{ $labels.name }} makes no progress.',
  ),
  alert(
    'McmMachineFailed',
    'warning',
    '30m',
    'max by (namespace, name) (mcm_machine_current_status_phase) == -3',
    'Machine {{ $labels.namespace }}/{{ $labels.name }} has been Failed for half an hour.',
  ),
  alert(
    'McmMachineTerminatingLong',
    'warning',
    '3h',
    'max by (namespace, name) (mcm_machine_current_status_phase) == -4',
    'Machine {{ $labels.namespace }}/{{ $labels.name }} has been on its way out for three hours.',
  ),
  alert(
    'McmMachinesDoNotJoin',
    'warning',
    '5m',
    `sum by (namespace, machine_deployment) (${rises('mcm_machine_num_failed_join', '30m')}) >= 2`,
    'VMs of {{ $labels.namespace }}/{{ $labels.machine_deployment }} come up and do not join the cluster.',
  ),
  alert(
    'McmCloudCallsFail',
    'warning',
    '15m',
    // Often; or, since calls are spaced by up to ten minutes, again and again, more often than they work, and still.
    [
      `${byCode(`rate(${CALLS_FAILED}[10m])`)} > 0.1`,
      `(${byCode(rises(CALLS_FAILED, '1h'))} >= 3 and on (provider, operation, error_code) ${byCode(`increase(${CALLS_FAILED}[20m])`)} > 0) / ignoring (error_code) group_left ${ALL_CALLS} > 0.5`,
    ].join(' or '),
    'Calls {{ $labels.operation }} to {{ $labels.provider }} fail with code {{ $labels.error_code }}.',
  ),
  alert(
    'McmOrphans',
    'warning',
    '2h',
    'max by (kind) (mcm_machine_orphans) > 0',
    'There are VMs or Nodes ({{ $labels.kind }}) that no machine stands for.',
  ),
  alert(
    'McmPoolDegraded',
    'warning',
    '15m',
    'max by (name) (mcc_pool_status_condition{condition="Degraded"} == 1) > 0',
    'Pool {{ $labels.name }} cannot be rendered, or nodes of it cannot apply their configuration.',
  ),
  alert(
    'McmQueueStuck',
    'warning',
    '15m',
    'max by (name) (mcm_workqueue_longest_running_processor_seconds) > 600',
    'A reconcile of {{ $labels.name }} has been running for more than ten minutes.',
  ),
  alert(
    'McmEventLoopBlocked',
    'warning',
    '15m',
    'max by (pod, container) (nodejs_eventloop_delay_seconds{quantile="0.99"}) > 1',
    'Container {{ $labels.container }} of {{ $labels.pod }} is too busy to answer in time; it may lose its lease.',
  ),
  alert(
    'McmRuntimeWarning',
    'warning',
    '15m',
    'max by (kind, subject) (runtime_warning) == 1',
    'Something is wrong around a controller ({{ $labels.kind }}: {{ $labels.subject }}); its log says what and how to mend it.',
  ),
];
