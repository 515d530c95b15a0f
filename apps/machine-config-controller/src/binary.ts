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

/** The folder with the built-in templates of MachineConfigs. */
export const TEMPLATES = fileURLToPath(new URL('../templates', import.meta.url));

const SERVICE = 'machine-config-controller';
const VERSION = '0.1.0';
const PROFILES = ['Old', 'Intermediate', 'Modern'];

const flags = {
  ...flagGroup('Machine configs', {
    templates: textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'directory of node templates: <role>/<MachineConfig>/<overlay>/{files,units,extensions}/<template>; default: the built-in templates',
    }),
    'pull-secret-namespace': textFlag({
      placeholder: '<namespace>',
      default: DEFAULT_CONFIG_SETTINGS.pullSecretNamespace,
      help: 'namespace of the Secret that spec.pullSecret of the ControllerConfig names',
    }),
    'tls-profile': textFlag({
      placeholder: '<name>',
      default: 'Intermediate',
      help: 'default TLS profile of kubelets: Old, Intermediate or Modern',
    }),
    'watch-api-server-config': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.watchApiServerConfig,
      help: 'use the TLS profile of the object apiservers.config.openshift.io/cluster, and follow its changes',
    }),
    'stamp-version': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.stampVersion,
      help: 'write the version of this program to the ControllerConfig; if false, the controller waits until another program writes this version',
    }),
    'render-while-paused': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.renderWhilePaused,
      help: 'render paused pools, so that their status shows the next configuration; paused pools always receive rotated certificates',
    }),
    'keep-renders': integerFlag({
      min: -1,
      default: DEFAULT_CONFIG_SETTINGS.keepRenders,
      help: 'number of unused rendered MachineConfigs to keep for each pool; -1: all',
    }),
    'machine-pools': booleanFlag({
      default: DEFAULT_CONFIG_SETTINGS.machinePools,
      help: 'allow references from pools to MachineDeployments and MachineSets (machineRef, machineRefs); requires the CRDs of both kinds',
    }),
    'halt-degraded': integerFlag({
      min: 0,
      default: DEFAULT_CONFIG_SETTINGS.haltDegraded,
      help: 'number of Degraded nodes at which the rollout of a pool stops; 0: no limit',
    }),
  }),
  ...flagGroup('Config server', {
    'config-server-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'HTTPS port of the config server for first boots, usually 22623; each replica serves this port; 0: disabled',
    }),
    'config-server-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'directory with tls.crt and tls.key for the config server; the process reloads changed files; default: self-signed certificates',
    }),
    'config-server-cert-secret': textFlag({
      placeholder: '<name>',
      default: 'machine-config-controller-server',
      help: 'Secret in --namespace with the self-signed certificates of all replicas; machines trust its ca.crt',
    }),
    'config-server-names': listFlag({
      default: [],
      help: 'DNS names and addresses in the self-signed certificate; default: the names of the Service machine-config-controller',
    }),
    'config-server-burst': integerFlag({
      min: 1,
      default: 60,
      help: 'maximum number of simultaneous requests from one client address to the config server',
    }),
    'config-server-requests-per-minute': integerFlag({
      min: 1,
      default: 120,
      help: 'maximum number of requests per minute from one client address to the config server; further requests get status 429',
    }),
  }),
} as const;

function check(given: FlagValues<typeof flags>): readonly string[] {
  const profile = given['tls-profile'];
  return PROFILES.includes(profile)
    ? []
    : [`--tls-profile must be one of ${PROFILES.join(', ')}, not ${JSON.stringify(profile)}`];
}

/** The `machine-config-controller` binary. */
export const machineConfigController: BinaryDefinition<typeof flags> = {
  name: 'machine-config-controller',
  version: VERSION,
  description:
    'Runs the controllers of MachineConfigs, MachineConfigPools and KubeletConfigs, and drains nodes before updates.',
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
        control,
        target: target ?? control,
        recorder,
        runtime,
        tree,
        metrics: metrics.queues,
        meters: metrics.meters,
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
