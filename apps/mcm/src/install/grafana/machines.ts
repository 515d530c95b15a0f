import { type BoardSpec, stat, timeseries } from './board.ts';

const phase = (value: number): string =>
  `count(max by (namespace, name) (mcm_machine_current_status_phase{namespace=~"$namespace"}) == ${value}) or vector(0)`;

const perDeployment = (metric: string): string =>
  `max by (namespace, name) (${metric}{namespace=~"$namespace", name=~"$deployment"})`;

const condition = (names: string, value: number): string =>
  `max by (namespace, name, condition) (mcm_machine_deployment_status_condition{namespace=~"$namespace", name=~"$deployment", condition=~"${names}"}) == ${value}`;

const stageQuantile = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le, stage) (rate(mcm_machine_stage_duration_seconds_bucket[$__rate_interval])))`;

/** The Grafana dashboard about machines, deployments and the cloud. */
export const MACHINES: BoardSpec = {
  uid: 'mcm-machines',
  title: 'Machines',
  description: 'Machines, MachineDeployments and calls to the cloud.',
  variables: [
    { name: 'namespace', label: 'Namespace', query: 'label_values(mcm_machine_deployment_info, namespace)' },
    {
      name: 'deployment',
      label: 'Deployment',
      query: 'label_values(mcm_machine_deployment_info{namespace=~"$namespace"}, name)',
    },
  ],
  links: [{ uid: 'mcm-controllers', title: 'Controllers' }],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Running', 'Machines with a healthy node.', phase(1)),
        stat('Starting', 'Machines in creation, without a joined node, or in an in-place update.', phase(0)),
        stat(
          'Unknown',
          'Machines whose node is unhealthy or missing. Unhealthy machines become Failed when the health timeout expires.',
          phase(-1),
          [1, 5],
        ),
        stat(
          'CrashLoopBackOff',
          'Machines whose creation the cloud refused. mcm retries each refused creation.',
          phase(-2),
          [1, 5],
        ),
        stat(
          'Failed',
          'Machines that need a replacement. Failed machines are usually replaced within minutes.',
          phase(-3),
          [1, 5],
        ),
        stat('Terminating', 'Machines that mcm drains or deletes.', phase(-4)),
      ],
    },
    {
      title: 'Deployments',
      panels: [
        timeseries(
          'Replicas',
          'short',
          'Desired, updated and available machines. The three numbers of machines are equal when a rollout is complete.',
          [perDeployment('mcm_machine_deployment_info_spec_replicas'), '{{name}} desired'],
          [perDeployment('mcm_machine_deployment_status_updated_replicas'), '{{name}} updated'],
          [perDeployment('mcm_machine_deployment_status_available_replicas'), '{{name}} available'],
        ),
        timeseries(
          'Troubles',
          'short',
          'Deployments with a problem: unavailable, without progress, frozen, or with an open circuit breaker.',
          [`(${condition('Available|Progressing', 0)}) + 1`, '{{name}}: not {{condition}}'],
          [condition('Frozen|ReplicaFailure|ReplacementHeld', 1), '{{name}}: {{condition}}'],
        ),
        timeseries(
          'Waiting for a window',
          'short',
          'Machines with an old template whose rollout waits for a window or for the end of a freeze.',
          [perDeployment('mcm_rollout_window_waiting_machines'), '{{name}}'],
        ),
        timeseries(
          'Time to the next window',
          's',
          'Time until the windows and freezes of a deployment allow a rollout. The panel has no value for a window that never opens.',
          [`clamp_min(${perDeployment('mcm_rollout_window_opens_time_seconds')} - time(), 0)`, '{{name}}'],
        ),
      ],
    },
    {
      title: 'Interruptions, zones and waits',
      panels: [
        timeseries(
          'Interruptions',
          'short',
          'Interruption notices of the cloud, by kind and result. mcm replaces a machine if its notice has the result `recorded`.',
          [
            'sum by (kind, outcome) (increase(mcm_interruption_notices_total[$__rate_interval]))',
            '{{kind}} {{outcome}}',
          ],
        ),
        timeseries(
          'Zones without new machines',
          'short',
          'Machines in zones that are evacuated, on standby or short of capacity.',
          [
            'max by (namespace, name, zone, state) (mcm_zone_machines{namespace=~"$namespace", name=~"$deployment", state!="open"})',
            '{{name}} {{zone}} {{state}}',
          ],
        ),
        timeseries(
          'Warm machines',
          'short',
          'Machines that wait for a scale-up. A scale-up can use only ready machines.',
          [
            'max by (namespace, name, ready) (mcm_warm_machines{namespace=~"$namespace", name=~"$deployment"})',
            '{{name}} ready: {{ready}}',
          ],
        ),
        timeseries(
          'Machines that wait for hooks',
          'short',
          'Machines that wait for the owner of a hook. If an overdue hook has the setting Block, the machine waits until the owner ends the hook.',
          ['max by (stage, hook, owner) (mcm_machine_hooks_pending)', '{{stage}}/{{hook}} of {{owner}}'],
          ['max by (stage, hook, owner) (mcm_machine_hooks_overdue)', '{{stage}}/{{hook}} of {{owner}} overdue'],
        ),
        timeseries(
          'Requests of the autoscaler',
          'reqps',
          'Requests on the port of the manager, by method and code. The autoscaler repeats requests that fail with UNAVAILABLE.',
          ['sum by (method, code) (rate(mcm_autoscaler_requests_total[$__rate_interval]))', '{{method}} {{code}}'],
        ),
      ],
    },
    {
      title: 'Stages of machines',
      panels: [
        timeseries(
          'Stages, median',
          's',
          'Duration of each stage from creation to deletion. The next panel shows the 95th percentile.',
          [stageQuantile(0.5), '{{stage}}'],
        ),
        timeseries(
          'Stages, 95th percentile',
          's',
          'If a stage takes longer than usual, check the cloud, the image and blocked drains.',
          [stageQuantile(0.95), '{{stage}}'],
        ),
        timeseries(
          'Machines that did not join',
          'short',
          'VMs that started but did not join in time. Check the user data, image and network of VMs that do not join.',
          [
            'sum by (machine_deployment) (increase(mcm_machine_num_failed_join{namespace=~"$namespace"}[$__rate_interval]))',
            '{{machine_deployment}}',
          ],
        ),
        timeseries(
          'Offerings without capacity',
          'short',
          'Machine types and zones without capacity. mcm creates machines with the next alternative of their class.',
          [
            'max by (machine_type, zone, subnet, market) (mcm_capacity_offering_short)',
            '{{machine_type}} {{zone}} {{subnet}} {{market}}',
          ],
        ),
        timeseries('Orphans', 'short', 'Number of VMs and Nodes without a Machine at the last check.', [
          'max by (kind) (mcm_machine_orphans)',
          '{{kind}}',
        ]),
      ],
    },
    {
      title: 'Cloud',
      panels: [
        timeseries('Driver calls, 95th percentile', 's', 'Duration of successful calls.', [
          'histogram_quantile(0.95, sum by (le, operation) (rate(mcm_cloud_api_driver_request_duration_seconds_bucket[$__rate_interval])))',
          '{{operation}}',
        ]),
        timeseries(
          'Failed driver calls',
          'cps',
          'Failed calls by error code: ResourceExhausted means capacity or quota, Unauthenticated and PermissionDenied mean credentials.',
          [
            'sum by (operation, error_code) (rate(mcm_cloud_api_driver_requests_failed_total[$__rate_interval]))',
            '{{operation}} {{error_code}}',
          ],
        ),
        timeseries(
          'Requests to the cloud',
          'reqps',
          'Requests by service of the cloud. All requests count against the quota of the cloud.',
          ['sum by (service) (rate(mcm_cloud_api_requests_total[$__rate_interval]))', '{{service}}'],
        ),
        timeseries(
          'Waits for the rate limit, 95th percentile',
          's',
          'Time for which calls wait because the cloud throttled earlier calls. Investigate each wait in the lane `delete`.',
          [
            'histogram_quantile(0.95, sum by (le, lane) (rate(mcm_cloud_api_wait_seconds_bucket[$__rate_interval])))',
            '{{lane}}',
          ],
        ),
        timeseries(
          'Frozen',
          'short',
          'The value 1 means that an API server is unreachable, so mcm checks no machines.',
          ['max by (namespace) (mcm_machine_controller_frozen)', '{{namespace}}'],
        ),
      ],
    },
  ],
};
