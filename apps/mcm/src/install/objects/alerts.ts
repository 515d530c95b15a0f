export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: { readonly summary: string; readonly runbook: string; readonly runbook_url?: string };
}

/** The folder of the runbooks, relative to the root of the repository. */
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
  annotations: { summary, runbook: `${RUNBOOKS}/${name}.md` },
});

/**
 * Returns a Prometheus query for the increase of a counter. The function `increase` of Prometheus ignores the first
 * value of a new series, so the query adds this value.
 */
const rises = (counter: string, time: string): string =>
  `((${counter} unless ${counter} offset ${time}) or increase(${counter}[${time}]))`;

/**
 * The selector for driver calls that failed. Failed driver calls do not include the codes NotFound (5), Unimplemented
 * (12) and Uninitialized (17), which are normal responses.
 */
const CALLS_FAILED = 'mcm_cloud_api_driver_requests_failed_total{error_code!~"5|12|17"}';
const CALLS_WORKED = 'mcm_cloud_api_driver_request_duration_seconds_count';
const ALL_CALLS = `sum by (provider, operation) (${rises(CALLS_FAILED, '1h')} or ${rises(CALLS_WORKED, '1h')})`;
const byCode = (rising: string): string => `sum by (provider, operation, error_code) (${rising})`;

const ALERTS: readonly Alert[] = [
  alert(
    'McmDown',
    'critical',
    '10m',
    'absent(mcm_machine_deployment_items_total) or absent(mcm_machine_items_total)',
    'Prometheus receives no metrics from one of the two controllers. If a controller does not run, mcm creates and replaces no machines.',
  ),
  alert(
    'McmMachineControllerFrozen',
    'critical',
    '10m',
    'max by (namespace) (mcm_machine_controller_frozen) == 1',
    'The machine controller cannot reach an API server, so it does not check the health of machines.',
  ),
  alert(
    'McmReplacementHeld',
    'critical',
    '15m',
    'max by (namespace, name) (mcm_machine_deployment_status_condition{condition="ReplacementHeld"} == 1) > 0',
    'Many machines of {{ $labels.namespace }}/{{ $labels.name }} became unreachable at the same time. mcm replaces no unreachable machine.',
  ),
  alert(
    'McmSetFrozen',
    'warning',
    '15m',
    'max by (namespace, name) (mcm_machine_set_status_condition{condition="Frozen"} == 1) > 0',
    'MachineSet {{ $labels.namespace }}/{{ $labels.name }} has too many machines and is frozen.',
  ),
  alert(
    'McmDeploymentUnavailable',
    'warning',
    '30m',
    'max by (namespace, name) (mcm_machine_deployment_status_condition{condition="Available"} == 0) == 0',
    'MachineDeployment {{ $labels.namespace }}/{{ $labels.name }} has too few available machines.',
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
    'Machine {{ $labels.namespace }}/{{ $labels.name }} has been in phase Failed for 30 minutes.',
  ),
  alert(
    'McmMachineTerminatingLong',
    'warning',
    // One hour is shorter than the default drain timeout of two hours, so a user can act before mcm deletes the
    // remaining pods.
    '1h',
    'max by (namespace, name) (mcm_machine_current_status_phase) == -4',
    'Machine {{ $labels.namespace }}/{{ $labels.name }} has been in phase Terminating for an hour.',
  ),
  alert(
    'McmMachinesDoNotJoin',
    'warning',
    '5m',
    `sum by (namespace, machine_deployment) (${rises('mcm_machine_num_failed_join', '30m')}) >= 2`,
    'VMs of {{ $labels.namespace }}/{{ $labels.machine_deployment }} start but do not join the cluster.',
  ),
  alert(
    'McmCloudCallsFail',
    'warning',
    '15m',
    // The alert fires if many calls fail. If calls are rare, the alert fires when failures continue and outnumber the
    // successes.
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
    'VMs or Nodes exist ({{ $labels.kind }}) without a Machine.',
  ),
  alert(
    'McmPoolDegraded',
    'warning',
    '15m',
    'max by (name) (mcc_pool_status_condition{condition="Degraded"} == 1) > 0',
    'MachineConfigPool {{ $labels.name }} cannot be rendered, or its nodes cannot apply their configuration.',
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
    'Container {{ $labels.container }} of {{ $labels.pod }} is overloaded and may lose its Lease.',
  ),
  alert(
    'McmRuntimeWarning',
    'warning',
    '15m',
    'max by (kind, subject) (runtime_warning) == 1',
    'A controller found a problem in its environment ({{ $labels.kind }}: {{ $labels.subject }}). The log of the controller contains the cause and the fix.',
  ),
];

/**
 * Returns the alerts with links to their runbooks.
 *
 * @param baseUrl The address of the folder with `docs/runbooks`. If `baseUrl` is undefined, the alerts contain only the
 * path of the runbook.
 */
export const alertsWithLinks = (baseUrl: string | undefined): readonly Alert[] =>
  baseUrl === undefined
    ? ALERTS
    : ALERTS.map((each) => ({
        ...each,
        annotations: { ...each.annotations, runbook_url: `${baseUrl.replace(/\/$/, '')}/${each.annotations.runbook}` },
      }));
