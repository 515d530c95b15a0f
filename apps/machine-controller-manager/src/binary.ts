import { crds, Finalizers, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import {
  checkSafeguardFlags,
  hasReplicas,
  journalFlags,
  journalOf,
  journalPage,
  openTraces,
  safeguardFlags,
  safeguardsOf,
} from '@mcm/core';
import {
  type BinaryContext,
  type BinaryDefinition,
  booleanFlag,
  durationFlag,
  type FeatureStates,
  type Features,
  type FlagValues,
  flagGroup,
  ignoredFlag,
  integerFlag,
  listFlag,
  type TracingOff,
  type TracingSettings,
  textFlag,
} from '@mcm/kube';
import { serveAutoscaler } from './autoscaler/serve.ts';
import { CONTROLLERS, createControllers, DEFAULT_SETTINGS, type ManagerSettings } from './controllers.ts';
import { serveWebhooks, serviceNames } from './webhooks.ts';

const NAME = 'machine-controller-manager';
const VERSION = '0.1.0';

const SERVICE = 'machine-controller-manager';

/** The feature gates of the manager, which `--feature-gates` enables and disables. */
export const MANAGER_FEATURES = {
  RolloutAnnotations: {
    stage: 'BETA',
    help: 'rollout.machine.sapcloud.io/… annotations of a MachineDeployment can delay or pause its rollout',
  },
} as const satisfies Features;

const flags = {
  ...flagGroup('Deployments and sets', {
    'safety-up': integerFlag({
      min: 0,
      default: DEFAULT_SETTINGS.safetyUp,
      help: 'the manager freezes a MachineSet if its machines exceed replicas plus surge by this number',
    }),
    'safety-down': integerFlag({
      min: 0,
      default: DEFAULT_SETTINGS.safetyDown,
      help: 'the manager ends the freeze of a MachineSet if its machines are this number below the limit of --safety-up',
    }),
    'machine-safety-overshooting-period': durationFlag({
      default: DEFAULT_SETTINGS.overshootingPeriodMs,
      help: 'interval of the check for MachineSets with too many machines; each change of a machine also starts a check',
    }),
    'autoscaler-scaledown-annotation-during-rollout': booleanFlag({
      default: DEFAULT_SETTINGS.protectNodesDuringRollout,
      help: 'prevent the cluster autoscaler from removing nodes of a MachineDeployment during a rollout',
    }),
    'ready-condition': booleanFlag({
      default: DEFAULT_SETTINGS.readyCondition,
      help: 'write the conditions Ready and Stalled of MachineDeployments, for kubectl wait, Flux and Argo CD',
    }),
    'blocked-by': booleanFlag({
      default: DEFAULT_SETTINGS.blockedBy,
      help: 'write status.blockedBy of MachineDeployments and MachineSets: the reasons why the manager waits',
    }),
    'capacity-buffers': booleanFlag({
      default: DEFAULT_SETTINGS.capacityBuffers,
      help: 'the CapacityBuffer in the annotation of a MachineDeployment determines the number of its warm machines',
    }),
    'disruption-report': booleanFlag({
      default: DEFAULT_SETTINGS.disruptionReport,
      help: 'write the disruption budgets and circuit breakers to the ConfigMap machine-disruptions',
    }),
    'count-terminating-towards-surge': booleanFlag({
      default: DEFAULT_SETTINGS.countTerminating,
      help: 'terminating machines count towards the limits for new machines; the annotation rollout.machine.sapcloud.io/count-terminating-towards-surge takes precedence',
    }),
  }),
  ...safeguardFlags,
  ...journalFlags,
  ...flagGroup('Admission webhooks', {
    'webhook-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'HTTPS port of the defaulting and validating webhooks; 0: disabled',
    }),
    'webhook-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'directory with tls.crt and tls.key for the webhooks; the process reloads changed files; default: self-signed certificates',
    }),
    'webhook-cert-secret': textFlag({
      placeholder: '<name>',
      default: 'machine-controller-manager-webhooks',
      help: 'Secret in --namespace with the self-signed certificates of all replicas',
    }),
    'webhook-names': listFlag({
      default: [],
      help: 'DNS names and addresses in the self-signed certificate; default: the names of the Service machine-controller-manager',
    }),
    'webhook-configurations': textFlag({
      placeholder: '<name>',
      default: 'machine-controller-manager',
      help: 'webhook configurations to which the manager writes the CA of its self-signed certificates; empty: none',
    }),
  }),
  ...flagGroup('Cluster autoscaler', {
    'autoscaler-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'port of the external gRPC provider for the cluster autoscaler; 0: disabled',
    }),
    'autoscaler-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'directory with tls.crt and tls.key of the autoscaler port, and with ca.crt, the CA of its client certificates',
    }),
  }),
  ...flagGroup('Fleet mode', {
    'fleet-rollout-budget': textFlag({
      placeholder: '<name>',
      default: '',
      help: 'ConfigMap in --namespace that limits how many clusters of the fleet roll out at the same time; default: no limit',
    }),
  }),
  // The manager accepts these flags and ignores them, because older installations of the original still set them.
  'delete-migrated-machine-class': ignoredFlag('[true|false]', 'deprecated; mcm does not migrate MachineClasses'),
  'machine-safety-apiserver-statuscheck-period': ignoredFlag(
    '<duration>',
    'deprecated for the manager; set the flag on the machine controller instead',
  ),
  'machine-safety-apiserver-statuscheck-timeout': ignoredFlag(
    '<duration>',
    'deprecated for the manager; set the flag on the machine controller instead',
  ),
} as const;

interface Doubtful {
  readonly 'safety-up': number;
  readonly 'safety-down': number;
  readonly 'webhook-port': number;
  readonly 'webhook-cert-dir': string;
}

/** Returns warnings about flag values that are valid but probably wrong. */
function doubtsAbout(given: Doubtful): readonly string[] {
  const { 'safety-up': up, 'safety-down': down } = given;
  return [
    ...(down > up
      ? [
          `--safety-down must be at most --safety-up (${up}), not ${down}; with a larger value, a MachineSet without surge stays frozen`,
        ]
      : []),
    ...(given['webhook-cert-dir'] !== '' && given['webhook-port'] === 0
      ? ['--webhook-cert-dir has no effect without --webhook-port']
      : []),
  ];
}

type Context = BinaryContext<typeof flags>;

/** The flags of the manager, in addition to the common flags. */
export const managerFlags = flags;

/** Returns the settings of the controllers, from the flags of the manager. */
export const managerSettingsOf = (
  given: FlagValues<typeof flags> & { readonly 'feature-gates': FeatureStates },
): Omit<ManagerSettings, 'concurrency' | 'concurrencyByController'> => ({
  safetyUp: given['safety-up'],
  safetyDown: given['safety-down'],
  overshootingPeriodMs: given['machine-safety-overshooting-period'],
  protectNodesDuringRollout: given['autoscaler-scaledown-annotation-during-rollout'],
  readyCondition: given['ready-condition'],
  blockedBy: given['blocked-by'],
  disruptionReport: given['disruption-report'],
  capacityBuffers: given['capacity-buffers'],
  countTerminating: given['count-terminating-towards-surge'],
  rolloutAnnotations: given['feature-gates']['RolloutAnnotations'] === true,
  ...safeguardsOf(given),
});

const startWebhooks = ({ flags: given, namespace, control, clock, random, log, serving }: Context) =>
  serveWebhooks(
    {
      host: given['bind-address'],
      port: given['webhook-port'],
      certificates: given['webhook-cert-dir'],
      selfMade: {
        namespace,
        secret: given['webhook-cert-secret'],
        names: given['webhook-names'].length > 0 ? given['webhook-names'] : serviceNames(SERVICE, namespace),
        configurations: given['webhook-configurations'],
      },
    },
    { control, clock, random, log, served: serving('webhook certificate') },
  );

const startAutoscaler = ({
  flags: given,
  namespace,
  control,
  target,
  clock,
  log,
  runtime,
  metrics,
  serving,
}: Context) =>
  serveAutoscaler(
    { host: given['bind-address'], port: given['autoscaler-port'], certificates: given['autoscaler-cert-dir'] },
    {
      control,
      target,
      namespace,
      runtime,
      clock,
      log,
      served: serving('autoscaler certificate'),
      meters: metrics.meters,
    },
  );

/** Creates the `machine-controller-manager` binary. */
export const managerBinary = (tracing: TracingSettings | TracingOff): BinaryDefinition<typeof flags> => ({
  name: NAME,
  version: VERSION,
  description:
    'Runs the controllers of MachineDeployments and MachineSets, and freezes MachineSets with too many machines.',
  metricsPrefix: 'mcm_',
  fleet: {
    without: ['webhook-port', 'autoscaler-port'],
    rolloutBudget: 'fleet-rollout-budget',
    deletion: {
      finalizer: Finalizers.FleetManager,
      content: [{ definition: machineDeployments }, { definition: machineSets }, { definition: machines }],
    },
    hibernation: {
      content: [
        { definition: machineDeployments, busy: hasReplicas },
        { definition: machineSets, busy: hasReplicas },
        { definition: machines, busy: () => true },
        { definition: machineClasses },
      ],
    },
  },
  defaults: {
    port: 10_258,
    concurrency: DEFAULT_SETTINGS.concurrency,
    controllers: CONTROLLERS,
    features: MANAGER_FEATURES,
  },
  flags,
  crds,
  check: (given) => [
    ...checkSafeguardFlags(given),
    ...(given['autoscaler-port'] !== 0 && given['autoscaler-cert-dir'] === ''
      ? ['--autoscaler-port needs --autoscaler-cert-dir, a directory with tls.crt, tls.key and ca.crt']
      : []),
  ],
  configure: (given) => ({ warnings: doubtsAbout(given) }),
  serve: async (context) => {
    const stops = await Promise.all([startWebhooks(context), startAutoscaler(context)]);
    return async () => void (await Promise.all(stops.map((stop) => stop?.())));
  },
  units: async ({
    control,
    target,
    namespace,
    runtime,
    metrics,
    flags: given,
    clock,
    log,
    pages,
    region,
    rollouts,
  }) => {
    const { meters } = metrics;
    const traces = await openTraces(tracing, { name: NAME, version: VERSION, clock, log, meters });
    const journal = journalOf(given);
    // The list of secrets for redaction is empty, because the manager reads no Secrets.
    const known = () => ({ secrets: [], tokens: [] });
    pages.serve(journalPage({ journal, version: VERSION, controller: NAME, clock, known }));
    return createControllers(
      { control, target, namespace, runtime, metrics: metrics.queues, meters, traces, journal, region, rollouts },
      {
        concurrency: given['concurrent-syncs'],
        concurrencyByController: given['concurrent-syncs-by-controller'],
        ...managerSettingsOf(given),
      },
    ).units;
  },
});

/** The `machine-controller-manager` binary without traces. */
export const machineControllerManager = managerBinary({ off: true });
