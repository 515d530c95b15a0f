import { Labels, type Machine, type MachineClass, PHASE_METRIC_VALUES, phaseOf, STEP_TEXTS } from '@mcm/api';
import type { Change, Clock, MeterLabels, Meters, Sample } from '@mcm/kube';
import type { VolumeState } from '../drain/volumes/volume-pace.ts';
import type { OfferingShortage } from '../machine/calls/capacity.ts';
import type { Rechecks } from '../machine/calls/node-actions.ts';
import type { SuspectCounts } from '../safety/orphans/orphans.ts';
import { registerHookMetrics } from './hooks.ts';
import { createdAt, named, perBlock, perCondition, perObject, type Source } from './sources.ts';

/** The data from which the metrics of the machine controller are computed. */
export interface MachineSources {
  readonly machines: Source<Machine> & { onChange(handler: (change: Change<Machine>) => void): () => void };
  readonly classOf: (machine: Machine) => MachineClass | undefined;
  readonly frozen: () => boolean;
  readonly suspects: () => SuspectCounts;
  readonly rechecks: () => Rechecks;
  readonly yields?: () => number;
  readonly shortages: () => Iterable<OfferingShortage>;
  /** Returns the shared limits of moving volumes. */
  readonly volumeLimits?: () => Iterable<VolumeState>;
  readonly clock: Clock;
  readonly alsoReported?: StageObserver | undefined;
}

/** A stage in the life of a machine, whose duration is a metric. */
export type Stage = 'create' | 'initialize' | 'join' | 'drain' | 'delete';

/** Receives the duration of a stage, at the end of the stage. */
export type StageObserver = (stage: Stage, machine: Machine, ms: number, machineClass?: MachineClass) => void;

const NAMED = ['name', 'namespace'];
const KIND = ['namespace', 'machine_deployment', 'instance_type', 'zone'];
const ZONE = 'topology.kubernetes.io/zone';
const STAGES: readonly Stage[] = ['create', 'initialize', 'join', 'drain', 'delete'];
const STAGE_BUCKETS = [1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600, 7200, 14_400];

/** A machine without a MachineDeployment is not counted, as in the original. */
function kindOf(stage: Stage | 'join', machine: Machine, machineClass: MachineClass | undefined) {
  const deployment = machine.metadata.labels?.name;
  if (!deployment) return undefined;
  const base = { namespace: machine.metadata.namespace ?? '', machine_deployment: deployment };
  if (stage === 'drain') return base;
  const { instanceType = '' } = machineClass?.nodeTemplate ?? {};
  const labels = machine.spec.nodeTemplate?.metadata?.labels;
  return { ...base, instance_type: instanceType, zone: labels?.[ZONE] ?? machineClass?.nodeTemplate?.zone ?? '' };
}

function stageObserver(meters: Meters): StageObserver {
  const last = new Map(
    STAGES.map((stage) => [
      stage,
      meters.gauge({
        name: `mcm_machine_${stage}_duration_seconds`,
        help: `Duration in seconds of stage ${stage} of the most recent machine`,
        labels: stage === 'drain' ? KIND.slice(0, 2) : KIND,
      }),
    ]),
  );
  const all = meters.histogram(
    {
      name: 'mcm_machine_stage_duration_seconds',
      help: 'Duration in seconds of a stage of a machine',
      labels: ['stage'],
    },
    STAGE_BUCKETS,
  );
  return (stage, machine, ms, machineClass) => {
    all(ms / 1000, { stage });
    const labels = kindOf(stage, machine, machineClass);
    // A duration of 0 seconds is not reported, as in the original.
    const seconds = Math.floor(ms / 1000);
    if (labels && seconds > 0) last.get(stage)?.(seconds, labels);
  };
}

function registerYields(meters: Meters, { yields = () => 0 }: MachineSources): void {
  meters.counted(
    {
      name: 'mcm_node_metadata_yields_total',
      help: 'Number of labels and annotations that mcm did not apply to Nodes, because another client owns the keys',
    },
    yields,
  );
}

const isDraining = ({ status }: Machine): boolean =>
  status?.lastOperation?.description?.includes(STEP_TEXTS.drain) === true;

function follow(sources: MachineSources, reported: StageObserver, failedJoin: (labels: MeterLabels) => void): void {
  const { machines, clock, classOf } = sources;
  const drains = new Map<string, number>();
  machines.onChange((change) => {
    const { object } = change;
    const { uid, creationTimestamp } = object.metadata;
    if (change.type === 'deleted') drains.delete(uid);
    if (change.type !== 'updated') return;
    const { old } = change;
    const now = clock.now().getTime();
    if (phaseOf(old) === 'Pending' && phaseOf(object) === 'Running') {
      reported('join', object, now - Date.parse(creationTimestamp), classOf(object));
    }
    if (phaseOf(old) === 'Pending' && phaseOf(object) === 'Failed') {
      const labels = kindOf('join', object, classOf(object));
      if (labels) failedJoin(labels);
    }
    if (isDraining(object) && !isDraining(old)) drains.set(uid, now);
    const since = drains.get(uid);
    if (since === undefined || isDraining(object)) return;
    drains.delete(uid);
    reported('drain', object, now - since);
  });
}

function* machineInfo({ store }: Source<Machine>): Generator<Sample> {
  for (const object of store.list()) {
    const { class: reference, providerID = '' } = object.spec;
    const labels = {
      ...named(object),
      createdAt: createdAt(object.metadata.creationTimestamp),
      spec_provider_id: providerID,
      spec_class_api_group: reference.apiGroup ?? '',
      spec_class_kind: reference.kind ?? '',
      spec_class_name: reference.name ?? '',
      node_name: object.metadata.labels?.[Labels.Node] ?? '',
    };
    yield { labels, value: 1 };
  }
}

const INFO = [
  ...NAMED,
  'createdAt',
  'spec_provider_id',
  'spec_class_api_group',
  'spec_class_kind',
  'spec_class_name',
  'node_name',
];

const OFFERING = ['machine_type', 'zone', 'subnet', 'market'];

function volumeMetrics(meters: Meters, { volumeLimits }: MachineSources): void {
  const perDriver = (value: (state: VolumeState) => number): Sample[] =>
    [...(volumeLimits?.() ?? [])].map((state) => ({ labels: { driver: state.driver }, value: value(state) }));
  meters.observed(
    {
      name: 'mcm_drain_volume_limit',
      help: 'Maximum number of volumes of a CSI driver that all drains together move at the same time; only with --drain-volume-limit',
      labels: ['driver'],
    },
    () => perDriver(({ limit }) => limit),
  );
  meters.observed(
    {
      name: 'mcm_drain_volumes_moving',
      help: 'Number of volumes of a CSI driver that all drains together move now; only with --drain-volume-limit',
      labels: ['driver'],
    },
    () => perDriver(({ moving }) => moving),
  );
}

function offeringMetrics(meters: Meters, { shortages, clock }: MachineSources): void {
  const perOffering = (value: (shortage: OfferingShortage) => number): Sample[] => {
    const sums = new Map<string, Sample>();
    for (const shortage of shortages()) {
      const key = JSON.stringify(shortage.labels);
      sums.set(key, { labels: shortage.labels, value: (sums.get(key)?.value ?? 0) + value(shortage) });
    }
    return [...sums.values()];
  };
  meters.observed(
    {
      name: 'mcm_capacity_offering_short',
      help: '1 for each offering without capacity; mcm uses the next alternative until a creation with the offering succeeds',
      labels: OFFERING,
    },
    () => perOffering(() => 1),
  );
  meters.observed(
    {
      name: 'mcm_capacity_offering_refusals',
      help: 'Number of consecutive VM creations that the cloud refused, because the offering had no capacity',
      labels: OFFERING,
    },
    () => perOffering(({ failures }) => failures),
  );
  meters.observed(
    {
      name: 'mcm_capacity_offering_probe_seconds',
      help: 'Seconds until mcm tries an offering without capacity again with one machine; 0: now',
      labels: OFFERING,
    },
    () => perOffering(({ retryAt }) => Math.max(0, (retryAt.getTime() - clock.now().getTime()) / 1_000)),
  );
}

const phaseValue = (machine: Machine): number =>
  (PHASE_METRIC_VALUES as Readonly<Record<string, number>>)[phaseOf(machine) ?? ''] ?? 0;

/**
 * Registers a histogram of stages, and the machine controller's metrics under the names of the original.
 * @returns the observer for the stages create, initialize and delete, whose durations the caller measures
 */
export function registerMachineMetrics(meters: Meters, sources: MachineSources): StageObserver {
  const { machines, frozen, suspects, rechecks } = sources;
  meters.observed(
    { name: 'mcm_machine_controller_frozen', help: '1 while the controller is frozen and checks no machines' },
    () => [{ value: frozen() ? 1 : 0 }],
  );
  meters.observed({ name: 'mcm_machine_items_total', help: 'Number of machines' }, () => [
    { value: machines.store.size },
  ]);
  meters.observed(
    {
      name: 'mcm_machine_current_status_phase',
      help: 'Phase of a machine: 1 means Running, -1 Unknown, -2 CrashLoopBackOff, -3 Failed, -4 Terminating; 0 means another phase',
      labels: NAMED,
    },
    () => perObject(machines, phaseValue),
  );
  meters.observed({ name: 'mcm_machine_info', help: 'Always 1; the labels identify a machine', labels: INFO }, () =>
    machineInfo(machines),
  );
  meters.observed(
    {
      name: 'mcm_machine_status_condition',
      help: 'Conditions of machines: 1 means True, 0 means False, 2 means Unknown',
      labels: [...NAMED, 'condition'],
    },
    () => perCondition(machines, ({ status }) => status?.conditions),
  );
  meters.observed(
    {
      name: 'mcm_machine_blocked',
      help: '1 for each cause in status.blockedBy; the metric exists only with the flag --blocked-by',
      labels: [...NAMED, 'cause'],
    },
    () => perBlock(machines),
  );
  meters.observed(
    {
      name: 'mcm_machine_orphans',
      help: 'Number of orphaned VMs and Nodes at the last check; kinds QuarantinedVM and StoppedVM are VMs that mcm keeps',
      labels: ['kind'],
    },
    () => {
      const { vms, nodes, quarantined, stopped } = suspects();
      return [
        { labels: { kind: 'VM' }, value: vms },
        { labels: { kind: 'Node' }, value: nodes },
        { labels: { kind: 'QuarantinedVM' }, value: quarantined },
        { labels: { kind: 'StoppedVM' }, value: stopped },
      ];
    },
  );
  offeringMetrics(meters, sources);
  volumeMetrics(meters, sources);
  registerHookMetrics(meters, sources);
  const reads = 'Number of Node reads from the API server for machines with frequent health changes';
  registerYields(meters, sources);
  meters.counted({ name: 'mcm_machine_health_rechecks_total', help: reads }, () => rechecks().all);
  meters.counted(
    {
      name: 'mcm_machine_health_contradictions_total',
      help: 'Number of Node reads (see mcm_machine_health_rechecks_total) that differed from the cache',
    },
    () => rechecks().stale,
  );
  const measure = stageObserver(meters);
  const reported: StageObserver = (...stage) => {
    measure(...stage);
    sources.alsoReported?.(...stage);
  };
  const failedJoin = meters.counter({
    name: 'mcm_machine_num_failed_join',
    help: 'Number of machines that did not join in time',
    labels: KIND,
  });
  follow(sources, reported, failedJoin);
  return reported;
}
