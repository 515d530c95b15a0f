import { hostname } from 'node:os';
import { durationFlag, type FlagValues, flagGroup, integerFlag, textFlag } from '../flags/flag.ts';

/** The default of `--fleet-secret`. */
export const FLEET_SECRET = 'fleet-kubeconfig';

/** The flags of the fleet mode. */
export const fleetFlags = flagGroup('Fleet mode', {
  'fleet-namespaces': textFlag({
    placeholder: '<selector>',
    default: '',
    help: 'serve one cluster for each namespace with these labels; the kubeconfig is in a Secret of the namespace, see --fleet-secret',
  }),
  'fleet-secret': textFlag({
    placeholder: '<name>',
    default: FLEET_SECRET,
    help: 'name of the Secret in each namespace of --fleet-namespaces, with the kubeconfig under the key `kubeconfig` or `value`',
  }),
  'fleet-folder': textFlag({
    placeholder: '<directory>',
    default: '',
    help: 'serve one cluster for each kubeconfig in this directory (NAME.kubeconfig, NAME.yaml); each cluster contains its machines and its nodes',
  }),
  'fleet-clusters': textFlag({
    placeholder: '<selector>',
    default: '',
    help: 'serve one cluster for each Cluster of Cluster API with these labels; the Secret NAME-kubeconfig contains its kubeconfig',
  }),
  'fleet-cluster-profiles': textFlag({
    placeholder: '<selector>',
    default: '',
    help: 'serve one cluster for each ClusterProfile with these labels; the kubeconfigs are in Secrets with the label x-k8s.io/cluster-profile',
  }),
  'fleet-replica': textFlag({
    placeholder: '<name>',
    default: '',
    help: 'unique name of this replica; the names of all replicas determine which replica serves a cluster; default: the host name',
  }),
  'fleet-weight': integerFlag({
    min: 0,
    max: 1000,
    default: 100,
    help: 'weight of this replica in the distribution of clusters; 0: the replica serves no clusters',
  }),
  'fleet-metrics-clusters': integerFlag({
    min: 0,
    default: 100,
    help: 'maximum number of values of the metric label cluster; the metrics of further clusters have the value cluster="other"',
  }),
  'fleet-requests': integerFlag({
    min: 1,
    default: 20,
    help: 'maximum number of requests that the controllers of one cluster send at the same time',
  }),
  'fleet-quiet-lease-duration': durationFlag({
    default: 0,
    help: 'duration of the Leases of quiet clusters; 0: --leader-elect-lease-duration',
  }),
  'fleet-cache-limit': integerFlag({
    min: 0,
    default: 0,
    help: 'maximum estimated size of the caches of one cluster, in MiB; the fleet releases larger clusters; 0: no limit',
  }),
  'fleet-hibernate-after': durationFlag({
    default: 0,
    help: 'if a cluster has had no machines and no work for this time, the replica closes its connection to the cluster; 0: keep all connections',
  }),
  'fleet-total-requests': integerFlag({
    min: 1,
    default: 200,
    help: 'maximum number of simultaneous requests of all clusters; a request that gets no response for 5 s does not count',
  }),
});

export type FleetFlags = FlagValues<typeof fleetFlags>;

/** The flags that find clusters. */
const SOURCES = ['fleet-namespaces', 'fleet-clusters', 'fleet-cluster-profiles', 'fleet-folder'] as const;

const sourcesOf = (flags: FleetFlags): readonly string[] => Object.keys(fleetSourceOf(flags));

/** A flag that finds the clusters of a fleet. */
export type FleetSourceFlag = (typeof SOURCES)[number];

/** Returns the flags that find clusters, with their values. */
export const fleetSourceOf = (values: Readonly<Record<string, unknown>>): Partial<Record<FleetSourceFlag, string>> =>
  Object.fromEntries(
    SOURCES.flatMap((name) => {
      const value = values[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );

/**
 * Returns the settings in a peer Lease from which commands find the clusters of the fleet. The settings contain the name
 * of the kubeconfig Secrets only if the name is not the default.
 */
export const announcedSource = (flags: FleetFlags): Readonly<Record<string, string>> => {
  const { 'fleet-secret': secret } = flags;
  const isOwn = flags['fleet-namespaces'] !== '' && secret !== FLEET_SECRET;
  const source = fleetSourceOf(flags);
  return isOwn ? { ...source, 'fleet-secret': secret } : source;
};

export const isFleet = (flags: FleetFlags): boolean => sourcesOf(flags).length > 0;

/** Returns true if the machine objects of each cluster are in a namespace of the seed. */
export const hasSeed = (flags: FleetFlags): boolean =>
  flags['fleet-namespaces'] !== '' || flags['fleet-clusters'] !== '';

export const SEED_FLAGS = '--fleet-namespaces or --fleet-clusters';

export const replicaOf = (flags: FleetFlags, host: string = hostname()): string =>
  flags['fleet-replica'] || host.toLowerCase().replace(/[^-a-z0-9.]/g, '-') || 'replica';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

interface Others {
  readonly 'target-kubeconfig': string;
  readonly 'leader-elect': boolean;
  readonly 'observe-only': boolean;
  readonly 'leader-elect-lease-duration': number;
}

function quietLeaseProblem(flags: FleetFlags & Others): readonly string[] {
  const quiet = flags['fleet-quiet-lease-duration'];
  const usual = flags['leader-elect-lease-duration'];
  return quiet === 0 || quiet > usual
    ? []
    : [`--fleet-quiet-lease-duration must be 0 or longer than --leader-elect-lease-duration (${usual / 1000}s)`];
}

function combinedProblem(flags: FleetFlags): readonly string[] {
  const sources = sourcesOf(flags).map((name) => `--${name}`);
  return sources.length > 1 ? [`${sources.join(' and ')} cannot be combined; set only one of the flags`] : [];
}

export function checkFleetFlags(flags: FleetFlags & Others): readonly string[] {
  if (!isFleet(flags)) return [];
  return [
    ...combinedProblem(flags),
    ...(flags['target-kubeconfig'] !== ''
      ? ['--target-kubeconfig must be absent in the fleet mode: each cluster has its own kubeconfig']
      : []),
    ...(flags['leader-elect']
      ? []
      : ['--leader-elect=false is not allowed in the fleet mode: the Leases prevent two writers']),
    ...(flags['observe-only']
      ? ['--observe-only is not available in the fleet mode; use the flag in a process with one cluster']
      : []),
    ...quietLeaseProblem(flags),
    ...(flags['fleet-hibernate-after'] > 0 && !hasSeed(flags)
      ? [`--fleet-hibernate-after needs ${SEED_FLAGS}: a change in the seed wakes a hibernated cluster`]
      : []),
    ...(flags['fleet-cache-limit'] > 0 && !hasSeed(flags)
      ? [`--fleet-cache-limit needs ${SEED_FLAGS}: mcm marks a large cluster with an annotation of its namespace`]
      : []),
    ...(NAME.test(replicaOf(flags))
      ? []
      : ['--fleet-replica must contain only lower-case letters, digits, "-" and "."']),
  ];
}
