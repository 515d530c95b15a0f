import { crds } from '@mcm/api';
import { checkSafeguardFlags, openTraces, safeguardFlags, safeguardsOf } from '@mcm/core';
import {
  type BinaryDefinition,
  booleanFlag,
  durationFlag,
  type Features,
  flagGroup,
  ignoredFlag,
  integerFlag,
  listFlag,
  type TracingOff,
  type TracingSettings,
  textFlag,
} from '@mcm/kube';
import { CONTROLLERS, createControllers, DEFAULT_SETTINGS } from './controllers.ts';
import { serveWebhooks, serviceNames } from './webhooks.ts';

const NAME = 'machine-controller-manager';
const VERSION = '0.1.0';

/** Of `deploy/`. */
const SERVICE = 'machine-controller-manager';

/** What can be switched on or off beside the flags. */
const FEATURES = {
  RolloutAnnotations: {
    stage: 'BETA',
    help: 'annotations rollout.machine.sapcloud.io/… of a deployment hold its rollout back or pause it',
  },
} as const satisfies Features;

const flags = {
  ...flagGroup('Deployments and sets', {
    'safety-up': integerFlag({
      min: 0,
      default: DEFAULT_SETTINGS.safetyUp,
      help: 'machines beyond replicas and surge at which a set is frozen',
    }),
    'safety-down': integerFlag({
      min: 0,
      default: DEFAULT_SETTINGS.safetyDown,
      help: 'how many machines below that number a frozen set is thawed',
    }),
    'machine-safety-overshooting-period': durationFlag({
      default: DEFAULT_SETTINGS.overshootingPeriodMs,
      help: 'how often sets are checked for far too many machines, beside the check at each change',
    }),
    'autoscaler-scaledown-annotation-during-rollout': booleanFlag({
      default: DEFAULT_SETTINGS.protectNodesDuringRollout,
      help: 'keep the cluster autoscaler from removing nodes of a deployment that is rolled out',
    }),
    'count-terminating-towards-surge': booleanFlag({
      default: DEFAULT_SETTINGS.countTerminating,
      help: 'make no machine of a deployment while it has replicas and surge already, those that still terminate counted; its annotation rollout.machine.sapcloud.io/count-terminating-towards-surge beats this',
    }),
  }),
  ...safeguardFlags,
  ...flagGroup('Admission webhooks', {
    'webhook-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'serve defaulting and validating webhooks over HTTPS here; 0: not at all',
    }),
    'webhook-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'holds tls.crt and tls.key of the webhooks; read again when they change; without it they are self-made',
    }),
    'webhook-cert-secret': textFlag({
      placeholder: '<name>',
      default: 'machine-controller-manager-webhooks',
      help: 'Secret in --namespace where replicas share the self-made certificates',
    }),
    'webhook-names': listFlag({
      default: [],
      help: 'DNS names and addresses in the self-made certificate; default: those of Service machine-controller-manager',
    }),
    'webhook-configurations': textFlag({
      placeholder: '<name>',
      default: 'machine-controller-manager',
      help: 'webhook configurations that are told to trust the self-made certificates; empty: none',
    }),
  }),
  // Older installations of the original give them to the manager.
  'delete-migrated-machine-class': ignoredFlag(
    '[true|false]',
    'deprecated; there are no migrated MachineClasses to delete',
  ),
  'machine-safety-apiserver-statuscheck-period': ignoredFlag(
    '<duration>',
    'deprecated here; give it to the machine controller',
  ),
  'machine-safety-apiserver-statuscheck-timeout': ignoredFlag(
    '<duration>',
    'deprecated here; give it to the machine controller',
  ),
} as const;

interface Doubtful {
  readonly 'safety-up': number;
  readonly 'safety-down': number;
  readonly 'webhook-port': number;
  readonly 'webhook-cert-dir': string;
}

/** What is likely not meant; the original takes it too. */
function doubtsAbout(given: Doubtful): readonly string[] {
  const { 'safety-up': up, 'safety-down': down } = given;
  return [
    ...(down > up
      ? [
          `--safety-down=${down} is above --safety-up=${up}: without surge a frozen set is thawed only when it has fewer machines than replicas`,
        ]
      : []),
    ...(given['webhook-cert-dir'] !== '' && given['webhook-port'] === 0
      ? ['--webhook-cert-dir has no effect without --webhook-port']
      : []),
  ];
}

/** The `machine-controller-manager` binary, with traces of rollouts if they are asked for. */
export const managerBinary = (tracing: TracingSettings | TracingOff): BinaryDefinition<typeof flags> => ({
  name: NAME,
  version: VERSION,
  description: 'Controllers of MachineDeployments and MachineSets, and the check for far too many machines.',
  metricsPrefix: 'mcm_',
  defaults: { port: 10_258, concurrency: DEFAULT_SETTINGS.concurrency, controllers: CONTROLLERS, features: FEATURES },
  flags,
  crds,
  check: checkSafeguardFlags,
  configure: (given) => ({ warnings: doubtsAbout(given) }),
  serve: ({ flags: given, namespace, control, clock, random, log, serving }) =>
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
    ),
  units: async ({ control, target, namespace, runtime, metrics, flags: given, clock, log }) => {
    const { meters } = metrics;
    const traces = await openTraces(tracing, { name: NAME, version: VERSION, clock, log, meters });
    return createControllers(
      { control, target, namespace, runtime, metrics: metrics.queues, meters, ...(traces ? { traces } : {}) },
      {
        concurrency: given['concurrent-syncs'],
        concurrencyByController: given['concurrent-syncs-by-controller'],
        safetyUp: given['safety-up'],
        safetyDown: given['safety-down'],
        overshootingPeriodMs: given['machine-safety-overshooting-period'],
        protectNodesDuringRollout: given['autoscaler-scaledown-annotation-during-rollout'],
        countTerminating: given['count-terminating-towards-surge'],
        rolloutAnnotations: given['feature-gates']['RolloutAnnotations'] === true,
        ...safeguardsOf(given),
      },
    ).units;
  },
});

/** The same without traces: its flags, Lease and metrics, as the original names them. */
export const machineControllerManager = managerBinary({ off: true });
