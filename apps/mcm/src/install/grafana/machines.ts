import { type BoardSpec, stat, timeseries } from './board.ts';

const phase = (value: number): string =>
  `count(max by (namespace, name) (mcm_machine_current_status_phase{namespace=~"$namespace"}) == ${value}) or vector(0)`;

const perDeployment = (metric: string): string =>
  `max by (namespace, name) (${metric}{namespace=~"$namespace", name=~"$deployment"})`;

const condition = (names: string, value: number): string =>
  `max by (namespace, name, condition) (mcm_machine_deployment_status_condition{namespace=~"$namespace", name=~"$deployment", condition=~"${names}"}) == ${value}`;

const stageQuantile = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le, stage) (rate(mcm_machine_stage_duration_seconds_bucket[$__rate_interval])))`;

/** Machines and what becomes of them: what somebody looks at when a rollout takes long. */
export const MACHINES: BoardSpec = {
  uid: 'mcm-machines',
  title: 'Machines',
  description: 'Machines, deployments and the cloud, as the machine-controller-manager sees them.',
  variables: [
    { name: 'namespace', label: 'Namespace', query: 'label_values(mcm_machine_deployment_info, namespace)' },
    {
      name: 'deployment',
      label: 'Deployment',
      query: 'label_values(mcm_machine_deployment_info{namespace=~"$namespace"}, name)',
    },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Running', 'Machines whose node is healthy.', phase(1)),
        stat('On their way', 'Being made, waiting for their node, or updated in place.', phase(0)),
        stat(
          'Unknown',
          'Their node is unhealthy or gone; they fail when the health timeout is over.',
          phase(-1),
          [1, 5],
        ),
        stat('CrashLoopBackOff', 'The cloud refused; it is tried again.', phase(-2), [1, 5]),
        stat('Failed', 'To be replaced. They should not stay.', phase(-3), [1, 5]),
        stat('Terminating', 'Drained or deleted at the cloud.', phase(-4)),
      ],
    },
    {
      title: 'Deployments',
      panels: [
        timeseries(
          'Replicas',
          'short',
          'Asked for, updated and available. They meet when a rollout is complete.',
          [perDeployment('mcm_machine_deployment_info_spec_replicas'), '{{name}} asked for'],
          [perDeployment('mcm_machine_deployment_status_updated_replicas'), '{{name}} updated'],
          [perDeployment('mcm_machine_deployment_status_available_replicas'), '{{name}} available'],
        ),
        timeseries(
          'Troubles',
          'short',
          'Deployments that are not available, make no progress, are frozen, or whose replacements are held back.',
          [`(${condition('Available|Progressing', 0)}) + 1`, '{{name}}: not {{condition}}'],
          [condition('Frozen|ReplicaFailure|ReplacementHeld', 1), '{{name}}: {{condition}}'],
        ),
      ],
    },
    {
      title: 'Lives of machines',
      panels: [
        timeseries('Stages, median', 's', 'How long each stage of a life takes; see also the 95th percentile.', [
          stageQuantile(0.5),
          '{{stage}}',
        ]),
        timeseries(
          'Stages, 95th percentile',
          's',
          'A stage that grows: the cloud, the image, or a drain that something blocks.',
          [stageQuantile(0.95), '{{stage}}'],
        ),
        timeseries(
          'Machines that did not join',
          'short',
          'VMs that came up without a node in time: look at their user data, image and network.',
          [
            'sum by (machine_deployment) (increase(mcm_machine_num_failed_join{namespace=~"$namespace"}[$__rate_interval]))',
            '{{machine_deployment}}',
          ],
        ),
        timeseries('Orphans', 'short', 'VMs and nodes that no machine stood for when it was last looked.', [
          'max by (kind) (mcm_machine_orphans)',
          '{{kind}}',
        ]),
      ],
    },
    {
      title: 'Cloud',
      panels: [
        timeseries('Driver calls, 95th percentile', 's', 'How long calls that worked took.', [
          'histogram_quantile(0.95, sum by (le, operation) (rate(mcm_cloud_api_driver_request_duration_seconds_bucket[$__rate_interval])))',
          '{{operation}}',
        ]),
        timeseries(
          'Failed driver calls',
          'cps',
          'By machine code: ResourceExhausted is capacity or quota, Unauthenticated and PermissionDenied are credentials.',
          [
            'sum by (operation, error_code) (rate(mcm_cloud_api_driver_requests_failed_total[$__rate_interval]))',
            '{{operation}} {{error_code}}',
          ],
        ),
        timeseries('Requests to the cloud', 'reqps', 'By service; what the quota of the cloud counts.', [
          'sum by (service) (rate(mcm_cloud_api_requests_total[$__rate_interval]))',
          '{{service}}',
        ]),
        timeseries('Frozen', 'short', '1 while an API server is out of reach and machines are not judged.', [
          'max by (namespace) (mcm_machine_controller_frozen)',
          '{{namespace}}',
        ]),
      ],
    },
  ],
};
