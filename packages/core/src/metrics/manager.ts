import { Annotations, type Machine, type MachineDeployment, type MachineSet, type MachineSummary } from '@mcm/api';
import { type Change, type Clock, controllerOf, type MeterLabels, type Meters, type Sample } from '@mcm/kube';
import type { DisruptionReport } from '../disruption/report/report.ts';
import type { DisruptionRow } from '../disruption/report/rows.ts';
import type { CanaryChecks } from '../rollout/canary-checks.ts';
import { parseInstant } from '../values/integers.ts';
import { bufferOf } from '../warm/buffer.ts';
import { isUsable, warmStateOf } from '../warm/warm-machine.ts';
import { zoneSettingOf } from '../zones/setting.ts';
import { zoneStates } from '../zones/spread.ts';
import { createdAt, named, perBlock, perCondition, perObject, type Source } from './sources.ts';
import { registerWindowMetrics, type WindowSources } from './windows.ts';

/** The caches of the manager. */
export interface ManagerSources {
  readonly deployments: Source<MachineDeployment>;
  readonly sets: Source<MachineSet>;
  readonly machines: Source<Machine> & { onChange(handler: (change: Change<Machine>) => void): () => void };
  readonly report?: Pick<DisruptionReport, 'rows'> | undefined;
  readonly canaryChecks?: Pick<CanaryChecks, 'onCheck'> | undefined;
  readonly safeguards: WindowSources['safeguards'];
  readonly clock: Pick<Clock, 'now'>;
}

const NAMED = ['name', 'namespace'];
const FAILED = [
  ...NAMED,
  'failed_machine_name',
  'failed_machine_provider_id',
  'failed_machine_owner_ref',
  'failed_machine_last_operation_state',
  'failed_machine_last_operation_machine_operation_type',
];

type Values<T> = readonly (readonly [name: string, help: string, value: (object: T) => number | undefined])[];

const absolute = (value: number | string | undefined): number => (typeof value === 'number' ? value : 0);

const rolling = ({ spec }: MachineDeployment) =>
  spec.strategy?.type === 'RollingUpdate' ? spec.strategy.rollingUpdate : undefined;

const DEPLOYMENT: Values<MachineDeployment> = [
  ['info_spec_paused', 'Whether the deployment is paused', ({ spec }) => (spec.paused ? 1 : 0)],
  ['info_spec_replicas', 'Desired number of machines', ({ spec }) => spec.replicas ?? 0],
  ['info_spec_min_ready_seconds', 'Value of spec.minReadySeconds', ({ spec }) => spec.minReadySeconds ?? 0],
  [
    'info_spec_rolling_update_max_surge',
    'maxSurge of a RollingUpdate; a percentage counts as 0',
    (object) => rolling(object) && absolute(rolling(object)?.maxSurge),
  ],
  [
    'info_spec_rolling_update_max_unavailable',
    'maxUnavailable of a RollingUpdate; a percentage counts as 0',
    (object) => rolling(object) && absolute(rolling(object)?.maxUnavailable),
  ],
  [
    'info_spec_revision_history_limit',
    'Number of inactive MachineSets to keep',
    ({ spec }) => spec.revisionHistoryLimit,
  ],
  ['info_spec_progress_deadline_seconds', 'Progress deadline', ({ spec }) => spec.progressDeadlineSeconds],
  ['info_spec_rollback_to_revision', 'Revision of the requested rollback', ({ spec }) => spec.rollbackTo?.revision],
  ['status_available_replicas', 'Number of available machines', ({ status }) => status?.availableReplicas ?? 0],
  [
    'status_unavailable_replicas',
    'Number of desired machines that are not available',
    ({ status }) => status?.unavailableReplicas ?? 0,
  ],
  ['status_ready_replicas', 'Number of machines that are Running', ({ status }) => status?.readyReplicas ?? 0],
  [
    'status_updated_replicas',
    'Number of machines of the current MachineSet',
    ({ status }) => status?.updatedReplicas ?? 0,
  ],
  ['status_collision_count', 'Number of name collisions of new MachineSets', ({ status }) => status?.collisionCount],
  ['status_replicas', 'Number of machines of all MachineSets', ({ status }) => status?.replicas ?? 0],
];

const SET: Values<MachineSet> = [
  ['info_spec_replicas', 'Desired number of machines', ({ spec }) => spec.replicas ?? 0],
  ['info_spec_min_ready_seconds', 'Value of spec.minReadySeconds', ({ spec }) => spec.minReadySeconds ?? 0],
  ['status_available_replicas', 'Number of available machines', ({ status }) => status?.availableReplicas ?? 0],
  [
    'status_fully_labelled_replicas',
    'Number of machines with all labels of the template',
    ({ status }) => status?.fullyLabeledReplicas ?? 0,
  ],
  ['status_ready_replicas', 'Number of machines that are Running', ({ status }) => status?.readyReplicas ?? 0],
  // In the original, the metric `status_replicas` contains `readyReplicas`.
  ['status_replicas', 'Number of machines of the MachineSet', ({ status }) => status?.replicas ?? 0],
];

type Owner = MachineDeployment | MachineSet;

function* failedOf({ store }: Source<Owner>): Generator<Sample> {
  for (const object of store.list()) {
    for (const failed of object.status?.failedMachines ?? []) {
      yield { labels: { ...named(object), ...failedLabels(failed) }, value: 1 };
    }
  }
}

const failedLabels = ({ name = '', providerID = '', ownerRef = '', lastOperation }: MachineSummary) => ({
  failed_machine_name: name,
  failed_machine_provider_id: providerID,
  failed_machine_owner_ref: ownerRef,
  failed_machine_last_operation_state: lastOperation?.state ?? '',
  failed_machine_last_operation_machine_operation_type: lastOperation?.type ?? '',
});

function common<T extends Owner>(
  meters: Meters,
  prefix: string,
  source: Source<T>,
  values: Values<T>,
  conditions: (object: T) => readonly { type: string; status: string }[] | undefined,
): void {
  meters.observed({ name: `${prefix}_items_total`, help: 'Number of objects' }, () => [{ value: source.store.size }]);
  for (const [name, help, value] of values) {
    meters.observed({ name: `${prefix}_${name}`, help, labels: NAMED }, () => perObject(source, value));
  }
  meters.observed(
    {
      name: `${prefix}_status_condition`,
      help: 'Conditions of the object: 1 means True, 0 means False, 2 means Unknown',
      labels: [...NAMED, 'condition'],
    },
    () => perCondition(source, conditions),
  );
  meters.observed(
    {
      name: `${prefix}_blocked`,
      help: '1 for each cause in status.blockedBy; the metric exists only with the flag --blocked-by',
      labels: [...NAMED, 'cause'],
    },
    () => perBlock(source),
  );
  meters.observed(
    {
      name: `${prefix}_failed_machines`,
      help: 'Failed machines; each failed machine has one time series',
      labels: FAILED,
    },
    () => failedOf(source),
  );
}

function* deploymentInfo({ store }: Source<MachineDeployment>): Generator<Sample> {
  for (const object of store.list()) {
    const labels = {
      ...named(object),
      createdAt: createdAt(object.metadata.creationTimestamp),
      spec_strategy_type: object.spec.strategy?.type ?? '',
    };
    yield { labels, value: 1 };
  }
}

function* setInfo({ store }: Source<MachineSet>): Generator<Sample> {
  for (const object of store.list()) {
    // The original reads only the deprecated field `machineClass`, so its labels about the class are always empty.
    const reference = object.spec.machineClass ?? object.spec.template.spec.class;
    const labels = {
      ...named(object),
      createdAt: createdAt(object.metadata.creationTimestamp),
      spec_machine_class_api_group: reference.apiGroup ?? '',
      spec_machine_class_kind: reference.kind ?? '',
      spec_machine_class_name: reference.name ?? '',
    };
    yield { labels, value: 1 };
  }
}

function* warmOf({ store }: Source<Machine>): Generator<Sample> {
  const counts = new Map<string, { labels: MeterLabels; value: number }>();
  for (const machine of store.list()) {
    if (warmStateOf(machine) === undefined || machine.metadata.deletionTimestamp !== undefined) continue;
    const ready = String(isUsable(machine, machine.metadata.annotations?.[Annotations.WarmTemplate]));
    const { namespace = '' } = machine.metadata;
    const labels = { name: controllerOf(machine)?.name ?? '', namespace, ready };
    const key = JSON.stringify(labels);
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
  }
  yield* counts.values();
}

function* buffersOf({ store }: Source<MachineDeployment>): Generator<Sample> {
  for (const deployment of store.list()) {
    const buffer = bufferOf(deployment);
    const machines = Number(deployment.metadata.annotations?.[Annotations.WarmBufferMachines] ?? Number.NaN);
    if (buffer !== undefined && Number.isFinite(machines))
      yield { labels: { ...named(deployment), buffer }, value: machines };
  }
}

function* zonesOf({
  deployments,
  sets,
  machines,
}: Pick<ManagerSources, 'deployments' | 'sets' | 'machines'>): Generator<Sample> {
  const zoned = new Map(
    deployments.store.list().flatMap((one) => {
      const setting = zoneSettingOf(one);
      return setting ? [[one.metadata.uid, { one, setting, machines: [] as Machine[] }] as const] : [];
    }),
  );
  if (zoned.size === 0) return;
  const owners = new Map(sets.store.list().map((set) => [set.metadata.uid, controllerOf(set)?.uid ?? '']));
  for (const machine of machines.store.list())
    zoned.get(owners.get(controllerOf(machine)?.uid ?? '') ?? '')?.machines.push(machine);
  for (const { one, ...input } of zoned.values())
    for (const { zone, staying, evacuated, standby } of zoneStates(input)) {
      const state = evacuated ? 'evacuated' : standby ? 'standby' : 'open';
      yield { labels: { ...named(one), zone: zone.name, state }, value: staying.length };
    }
}

function marksExpiredAt({ metadata }: MachineDeployment): number | undefined {
  const ms = parseInstant(metadata.annotations?.[Annotations.MarksExpired]);
  return ms === undefined ? undefined : ms / 1_000;
}

const isStaleDeletion = (change: Change<Machine>): boolean =>
  change.type === 'updated' &&
  change.old.metadata.deletionTimestamp === undefined &&
  change.object.metadata.deletionTimestamp !== undefined &&
  change.object.status?.currentStatus?.phase === 'Failed' &&
  change.object.status.lastOperation?.type === 'HealthCheck';

function registerDisruptions(meters: Meters, { report, clock }: ManagerSources): void {
  const values: Values<DisruptionRow> = [
    [
      'mcm_circuit_breaker_open',
      '1 while the circuit breaker of the cluster, a zone, a class or a deployment is open',
      breakerOf,
    ],
    ['mcm_disruption_budget_allowed', 'Number of machines that mcm may replace or roll out now', (row) => row.allowed],
    ['mcm_disruption_budget_in_use', 'Number of machines that mcm replaces or rolls out now', (row) => row.inUse],
    [
      'mcm_disruption_budget_waiting',
      'Number of failed machines that wait for the disruption budget',
      (row) => row.waiting,
    ],
  ];
  for (const [name, help, value] of values)
    meters.observed({ name, help, labels: ['scope'] }, () =>
      [...(report?.rows(clock.now()).rows ?? [])].flatMap(([scope, row]) => {
        const number = value(row);
        return number === undefined ? [] : [{ labels: { scope }, value: number }];
      }),
    );
}

const breakerOf = ({ breaker }: DisruptionRow): number | undefined =>
  breaker === undefined ? undefined : Number(breaker === 'Open');

/**
 * Registers the manager's metrics with the names of the original. mcm reads the values of gauges from the caches at
 * each scrape, so a deleted object has no series.
 */
export function registerManagerMetrics(meters: Meters, sources: ManagerSources): void {
  const { deployments, sets, machines } = sources;
  common(meters, 'mcm_machine_deployment', deployments, DEPLOYMENT, ({ status }) => status?.conditions);
  common(meters, 'mcm_machine_set', sets, SET, ({ status }) => status?.machineSetCondition);
  meters.observed(
    {
      name: 'mcm_machine_deployment_info',
      help: 'Always 1; the labels identify a MachineDeployment',
      labels: [...NAMED, 'createdAt', 'spec_strategy_type'],
    },
    () => deploymentInfo(deployments),
  );
  meters.observed(
    {
      name: 'mcm_machine_set_info',
      help: 'Always 1; the labels identify a MachineSet',
      labels: [
        ...NAMED,
        'createdAt',
        'spec_machine_class_api_group',
        'spec_machine_class_kind',
        'spec_machine_class_name',
      ],
    },
    () => setInfo(sets),
  );
  meters.observed(
    {
      name: 'mcm_warm_machines',
      help: 'Number of warm machines of a deployment; the label ready is true if a MachineSet can use them',
      labels: [...NAMED, 'ready'],
    },
    () => warmOf(machines),
  );
  meters.observed(
    {
      name: 'mcm_warm_buffer_machines',
      help: 'Number of warm machines that the CapacityBuffer of a deployment needs',
      labels: [...NAMED, 'buffer'],
    },
    () => buffersOf(deployments),
  );
  meters.observed(
    {
      name: 'mcm_zone_machines',
      help: 'Number of machines of a deployment in a zone, without terminating machines. The label state has the value open, evacuated, standby or short',
      labels: [...NAMED, 'zone', 'state'],
    },
    () => zonesOf({ deployments, sets, machines }),
  );
  meters.observed(
    {
      name: 'mcm_autoscaler_marks_expired_time_seconds',
      help: 'Time at which the manager last removed expired deletion marks of an autoscaler, in seconds since 1970',
      labels: NAMED,
    },
    () => perObject(deployments, marksExpiredAt),
  );
  registerWindowMetrics(meters, sources);
  registerDisruptions(meters, sources);
  const checks = meters.counter({
    name: 'mcm_canary_pod_checks_total',
    help: 'Number of times that the manager checked the pods of canaries after the soak time. The label result is Ready, NotReady or Unknown',
    labels: ['result'],
  });
  sources.canaryChecks?.onCheck((result) => checks({ result }));
  const stale = meters.counter({
    name: 'mcm_machine_stale_machines_total',
    help: 'Number of machines that mcm deleted after a failed health check',
  });
  machines.onChange((change) => {
    if (isStaleDeletion(change)) stale();
  });
}
