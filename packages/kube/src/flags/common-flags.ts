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

/** The defaults that differ between binaries. */
export interface CommonDefaults {
  readonly port: number;
  readonly concurrency: number;
  /** Whether one process of the binary is elected as the leader (default: true). */
  readonly leaderElect?: boolean;
  readonly controllers: readonly string[];
  readonly features?: Features;
}

const configurationFlags = (defaults: CommonDefaults) =>
  flagGroup('Configuration', {
    config: textFlag({
      placeholder: '<file>',
      default: '',
      help: 'YAML file that maps flag names to values. The command line takes precedence over the environment (MCM_FLAG_NAMESPACE for --namespace), and the environment over the file',
    }),
    'feature-gates': featureGatesFlag(defaults.features ?? {}),
    namespace: textFlag({
      default: 'default',
      help: 'namespace of the managed objects in the control cluster',
    }),
    'concurrent-syncs': integerFlag({
      min: 1,
      default: defaults.concurrency,
      help: 'number of objects that each controller reconciles in parallel',
      deprecated: { 'concurrent-node-syncs': 'use --concurrent-syncs' },
    }),
    'observe-only': booleanFlag({
      default: false,
      help: 'make all decisions, but send no write to an API server or a cloud, and hold no Lease. The log and mcm_observe_decisions_total contain the decisions',
    }),
    'concurrent-syncs-by-controller': integersFlag({
      min: 1,
      names: defaults.controllers,
      help: `number of workers of one controller, which overrides --concurrent-syncs; controllers: ${defaults.controllers.join(', ') || 'none'}`,
    }),
  });

const CLUSTERS = flagGroup('Clusters', {
  'target-kubeconfig': textFlag({
    placeholder: '<path>',
    default: '',
    help: 'kubeconfig of the cluster with the nodes; "inClusterConfig" (default): the cluster of the pod; "none": machines without nodes',
  }),
  'control-kubeconfig': textFlag({
    placeholder: '<path>',
    default: '',
    help: 'kubeconfig of the cluster with the machine objects; "inClusterConfig": the cluster of the pod; default: the target cluster',
  }),
  'kube-api-qps': numberFlag({
    min: 0,
    default: 0,
    help: 'requests per second to each API server; 0: no limit in the client',
  }),
  'kube-api-burst': integerFlag({
    min: 0,
    default: 30,
    help: 'maximum number of requests in a burst that exceeds --kube-api-qps; requires --kube-api-qps',
  }),
});

const electionFlags = (defaults: CommonDefaults) =>
  flagGroup('Leader election', {
    'leader-elect': booleanFlag({
      default: defaults.leaderElect ?? true,
      help: 'run the controllers only while this process holds the Lease',
    }),
    'leader-elect-lease-duration': durationFlag({
      default: 15_000,
      minMs: 1000,
      help: 'if the leader does not renew the Lease for this time, another replica can become the leader',
    }),
    'leader-elect-renew-deadline': durationFlag({
      default: 10_000,
      minMs: 1,
      help: 'if the leader cannot renew the Lease for this time, the leader stops',
    }),
    'leader-elect-retry-period': durationFlag({
      default: 2000,
      minMs: 1,
      help: 'time between two attempts to acquire or renew the Lease',
    }),
    'leader-elect-resource-lock': textFlag({ default: 'leases', oneOf: ['leases'], help: 'kind of the lock object' }),
  });

const observationFlags = (defaults: CommonDefaults) =>
  flagGroup('Health, metrics and logs', {
    port: integerFlag({
      min: 0,
      max: 65_535,
      default: defaults.port,
      help: 'port for health and metrics; 0: any free port',
    }),
    'bind-address': textFlag({
      placeholder: '<ip>',
      default: '0.0.0.0',
      help: 'address for health and metrics',
      deprecated: { address: 'use --bind-address' },
    }),
    'secure-port': integerFlag({
      min: 0,
      max: 65_535,
      default: 0,
      help: 'port for health and metrics over HTTPS, for clients with a token; 0: disabled',
    }),
    'tls-cert-dir': textFlag({
      placeholder: '<directory>',
      default: '',
      help: 'directory with tls.crt and tls.key for --secure-port; the process reloads changed files; default: a new self-signed certificate at each start',
    }),
    'metrics-auth': textFlag({
      default: 'delegated',
      oneOf: ['delegated', 'none'],
      help: 'access to /metrics from other hosts. "delegated": clients need a token with access to /metrics in the control cluster. "none": all clients. Settings and debugging always require a token',
    }),
    profiling: booleanFlag({
      default: false,
      help: 'serve CPU and heap profiles under /debug/pprof/',
    }),
    'log-level': textFlag({
      default: 'info',
      oneOf: LOG_LEVELS,
      help: 'minimum level of log lines on standard error; PUT /debug/log-level changes the level at run time',
    }),
    v: integerFlag({ short: 'v', min: 0, default: 0, help: 'klog verbosity; 4 and above set --log-level=debug' }),
  });

const IGNORED = {
  'cloud-provider': ignoredFlag('<text>', 'the provider of each program is fixed'),
  'min-resync-period': ignoredFlag(
    '<duration>',
    'caches need no periodic resync, because watches deliver every change',
  ),
  'contention-profiling': ignoredFlag('[true|false]', 'the process has no locks to profile'),
  'kube-api-content-type': ignoredFlag('<type>', 'all requests use JSON'),
  'controller-start-interval': ignoredFlag('<duration>', 'the original also ignores the flag'),
  vmodule: ignoredFlag('<patterns>', 'use --log-level'),
  'log-flush-frequency': ignoredFlag('<duration>', 'log lines are always written immediately'),
};

/** Returns the flags of all binaries. */
export const commonFlags = (defaults: CommonDefaults) => ({
  ...configurationFlags(defaults),
  ...CLUSTERS,
  ...electionFlags(defaults),
  ...observationFlags(defaults),
  ...IGNORED,
});

/** The type of the flags that every controller binary has. */
export type CommonFlags = ReturnType<typeof commonFlags>;
