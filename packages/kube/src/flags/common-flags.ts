import { LOG_LEVELS } from '../log/memory-logger.ts';
import { type Features, featureGatesFlag } from './feature-gates.ts';
import {
  booleanFlag,
  durationFlag,
  flagGroup,
  ignoredFlag,
  integerFlag,
  integersFlag,
  numberFlag,
  textFlag,
} from './flag.ts';

/** Defaults in which the binaries differ. */
export interface CommonDefaults {
  readonly port: number;
  /** Keys worked on at once by each controller. */
  readonly concurrency: number;
  /** False: every process of the binary works, whatever the others do. Default true. */
  readonly leaderElect?: boolean;
  /** Names of the controllers, as their queues' metrics have them. */
  readonly controllers: readonly string[];
  /** What can be switched on or off; default: nothing. */
  readonly features?: Features;
}

/** The flags that every controller binary has, with Go MCM's names, and its defaults save where the help says otherwise. */
export const commonFlags = (defaults: CommonDefaults) => ({
  ...flagGroup('Configuration', {
    config: textFlag({
      placeholder: '<file>',
      default: '',
      help: 'YAML mapping of flag names to values; a flag on the command line beats its environment variable (MCM_FLAG_NAMESPACE for --namespace), which beats the file',
    }),
    'feature-gates': featureGatesFlag(defaults.features ?? {}),
    namespace: textFlag({
      default: 'default',
      help: 'the namespace in the control cluster in which objects are looked after',
    }),
    'concurrent-syncs': integerFlag({
      min: 1,
      default: defaults.concurrency,
      help: 'keys that each controller works on at once',
      deprecated: { 'concurrent-node-syncs': 'it never was about nodes; use --concurrent-syncs' },
    }),
    'observe-only': booleanFlag({
      default: false,
      help: 'decide everything and do nothing, beside a controller that runs: no write to an API server or cloud, no lease; what would be done is logged and counted (mcm_observe_decisions_total)',
    }),
    'concurrent-syncs-by-controller': integersFlag({
      min: 1,
      names: defaults.controllers,
      help: `beats --concurrent-syncs for single controllers: ${defaults.controllers.join(', ') || 'none here'}`,
    }),
  }),
  ...flagGroup('Clusters', {
    'target-kubeconfig': textFlag({
      placeholder: '<path>',
      default: '',
      help: 'kubeconfig of the cluster that the nodes belong to; "inClusterConfig" (also when absent) for the pod\'s own, "none" for no such cluster',
    }),
    'control-kubeconfig': textFlag({
      placeholder: '<path>',
      default: '',
      help: 'kubeconfig of the cluster that holds the machine objects; "inClusterConfig" for the pod\'s own; absent: the target cluster',
    }),
    'kube-api-qps': numberFlag({
      min: 0,
      default: 0,
      help: 'requests a second to each API server; 0: no limit on this side',
    }),
    'kube-api-burst': integerFlag({
      min: 0,
      default: 30,
      help: 'requests at once beyond --kube-api-qps, when that is set',
    }),
  }),
  ...flagGroup('Leader election', {
    'leader-elect': booleanFlag({ default: defaults.leaderElect ?? true, help: 'work only while holding the lease' }),
    'leader-elect-lease-duration': durationFlag({
      default: 15_000,
      minMs: 1000,
      help: 'how long others wait for a leader that is silent',
    }),
    'leader-elect-renew-deadline': durationFlag({
      default: 10_000,
      minMs: 1,
      help: 'how long a leader tries to renew before it gives up',
    }),
    'leader-elect-retry-period': durationFlag({
      default: 2000,
      minMs: 1,
      help: 'time between two tries to get or renew the lease',
    }),
    'leader-elect-resource-lock': textFlag({ default: 'leases', oneOf: ['leases'], help: 'kind of the lock' }),
  }),
  ...flagGroup('Health, metrics and logs', {
    port: integerFlag({
      min: 0,
      max: 65_535,
      default: defaults.port,
      help: 'port for health and metrics; 0 picks a free one',
    }),
    'bind-address': textFlag({
      placeholder: '<ip>',
      default: '0.0.0.0',
      help: 'address on which health and metrics are served',
      deprecated: { address: 'use --bind-address' },
    }),
    'secure-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'serve the same over HTTPS here, for scrapers that show a token; 0: not at all',
    }),
    'tls-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'holds tls.crt and tls.key of --secure-port; read again when they change; without it a certificate is made at each start',
    }),
    'metrics-auth': textFlag({
      default: 'delegated',
      oneOf: ['delegated', 'none'],
      help: 'who may read /metrics from other machines: whoever shows a bearer token that the control cluster allows to get /metrics, or anyone; settings and debugging are never for anyone',
    }),
    profiling: booleanFlag({
      default: false,
      help: 'record CPU and heap profiles on demand under /debug/pprof/',
    }),
    'log-level': textFlag({
      default: 'info',
      oneOf: LOG_LEVELS,
      help: 'least level of log lines, which go to standard error; changed at run time by PUT /debug/log-level',
    }),
    v: integerFlag({ short: 'v', min: 0, default: 0, help: 'klog verbosity: 4 and above mean --log-level=debug' }),
  }),
  'cloud-provider': ignoredFlag('<text>', 'the binary knows its provider'),
  'min-resync-period': ignoredFlag('<duration>', 'caches are never replayed, watches miss nothing'),
  'contention-profiling': ignoredFlag('[true|false]', 'there are no locks to profile'),
  'kube-api-content-type': ignoredFlag('<type>', 'requests are JSON'),
  'controller-start-interval': ignoredFlag('<duration>', 'it never had one'),
  vmodule: ignoredFlag('<patterns>', 'use --log-level'),
  'log-flush-frequency': ignoredFlag('<duration>', 'lines are written at once'),
});

/** The flags that every binary has. */
export type CommonFlags = ReturnType<typeof commonFlags>;
