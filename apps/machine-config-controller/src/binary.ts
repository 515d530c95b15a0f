import { fileURLToPath } from 'node:url';
import {
  type BinaryDefinition,
  booleanFlag,
  type FlagValues,
  flagGroup,
  integerFlag,
  listFlag,
  textFlag,
} from '@mcm/kube';
import { loadTemplates, machineConfigCrds } from '@mcm/machine-config';
import { serverNames, startConfigServer } from './config-server.ts';
import { CONTROLLERS, createConfigControllers, DEFAULT_CONFIG_SETTINGS } from './controllers.ts';

/** The templates that come with the binary. */
export const TEMPLATES = fileURLToPath(new URL('../templates', import.meta.url));

/** Of `deploy/`. */
const SERVICE = 'machine-config-controller';
const VERSION = '0.1.0';
const PROFILES = ['Old', 'Intermediate', 'Modern'];

const flags = {
  ...flagGroup('Machine configs', {
    templates: textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'templates of the nodes: <role>/<MachineConfig>/<overlay>/{files,units,extensions}/<template>; default: those that come with the binary',
    }),
    'pull-secret-namespace': textFlag({
      placeholder: '<namespace>',
      default: DEFAULT_CONFIG_SETTINGS.pullSecretNamespace,
      help: 'where the Secret of the ControllerConfig’s spec.pullSecret is',
    }),
    'tls-profile': textFlag({
      placeholder: '<name>',
      default: 'Intermediate',
      help: 'TLS profile of kubelets without one of their own: Old, Intermediate or Modern',
    }),
    'watch-api-server-config': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.watchApiServerConfig,
      help: 'take the TLS profile from apiservers.config.openshift.io/cluster, and follow it',
    }),
    'stamp-version': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.stampVersion,
      help: 'write this version to the ControllerConfig; false where an operator does, whose version is then waited for',
    }),
    'render-while-paused': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.renderWhilePaused,
      help: 'render paused pools too, so that they show what they will get; certificates reach their nodes anyway',
    }),
    'keep-renders': integerFlag({
      min: -1,
      default: DEFAULT_CONFIG_SETTINGS.keepRenders,
      help: 'how many rendered MachineConfigs that neither a pool nor a node names are kept for each pool; -1: all',
    }),
    'machine-pools': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.machinePools,
      help: 'pools may refer to MachineDeployments and MachineSets (machineRef, machineRefs), whose kinds must be there',
    }),
    'halt-degraded': integerFlag({
      min: 0,
      default: DEFAULT_CONFIG_SETTINGS.haltDegraded,
      help: 'from so many nodes that degraded on a pool’s target on, no further node is told it; 0: never',
    }),
  }),
  ...flagGroup('Config server', {
    'config-server-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'serve the configuration of first boots over HTTPS here, usually 22623, in every replica; 0: not at all',
    }),
    'config-server-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'holds tls.crt and tls.key of the config server; read again when they change; without it they are self-made',
    }),
    'config-server-cert-secret': textFlag({
      placeholder: '<name>',
      default: 'machine-config-controller-server',
      help: 'Secret in --namespace where replicas share the self-made certificates; its ca.crt is what machines trust',
    }),
    'config-server-names': listFlag({
      default: [],
      help: 'DNS names and addresses in the self-made certificate; default: those of Service machine-config-controller',
    }),
    'config-server-burst': integerFlag({
      min: 1,
      default: 60,
      help: 'requests of one address that the config server answers at once',
    }),
    'config-server-requests-per-minute': integerFlag({
      min: 1,
      default: 120,
      help: 'requests of one address that the config server answers in a minute; more are told when to ask again',
    }),
  }),
} as const;

/** What no single flag can know is wrong. */
function check(given: FlagValues<typeof flags>): readonly string[] {
  const profile = given['tls-profile'];
  return PROFILES.includes(profile)
    ? []
    : [`--tls-profile is ${JSON.stringify(profile)}, must be one of ${PROFILES.join(', ')}`];
}

/** The `machine-config-controller` binary. */
export const machineConfigController: BinaryDefinition<typeof flags> = {
  name: 'machine-config-controller',
  version: VERSION,
  description: 'Controllers of MachineConfigs, their pools and KubeletConfigs, and drain for updates of nodes.',
  metricsPrefix: 'mcc_',
  defaults: { port: 8797, concurrency: DEFAULT_CONFIG_SETTINGS.concurrency, controllers: CONTROLLERS },
  crds: machineConfigCrds,
  flags,
  check,
  serve: async ({ flags: given, namespace, control, target = control, metrics: { meters }, ...context }) => {
    const port = given['config-server-port'];
    if (port === 0) return undefined;
    const certificates = given['config-server-cert-dir'];
    const limit = { burst: given['config-server-burst'], perMinute: given['config-server-requests-per-minute'] };
    const named = given['config-server-names'];
    const names = named.length > 0 ? named : serverNames(SERVICE, namespace);
    const selfMade = { namespace, secret: given['config-server-cert-secret'], names };
    const machinePools = given['machine-pools'];
    const settings = { host: given['bind-address'], port, certificates, selfMade, machinePools, limit };
    const { clock, random, log } = context;
    const served = context.serving('config server certificate');
    const server = await startConfigServer(settings, { control, target, clock, random, log, meters, served });
    return server.close;
  },
  units: async ({ control, target, recorder, targetRecorder, runtime, metrics, flags: given }) => {
    const tree = await loadTemplates(given.templates === '' ? TEMPLATES : given.templates);
    return createConfigControllers(
      {
        ...{
          control,
          target: target ?? control,
          recorder,
          runtime,
          tree,
          metrics: metrics.queues,
          meters: metrics.meters,
        },
        nodeRecorder: targetRecorder ?? recorder,
        identity: { version: VERSION, hash: VERSION },
      },
      {
        concurrency: given['concurrent-syncs'],
        pullSecretNamespace: given['pull-secret-namespace'],
        tlsProfile: given['tls-profile'],
        watchApiServerConfig: given['watch-api-server-config'],
        stampVersion: given['stamp-version'],
        renderWhilePaused: given['render-while-paused'],
        keepRenders: given['keep-renders'],
        machinePools: given['machine-pools'],
        haltDegraded: given['halt-degraded'],
      },
    ).units;
  },
};
