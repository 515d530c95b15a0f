import { hostname } from 'node:os';
import { type FlagValues, flagGroup, integerFlag, textFlag } from '../flags/flag.ts';

/** The flags of the fleet mode. */
export const fleetFlags = flagGroup('Fleet mode', {
  'fleet-namespaces': textFlag({
    placeholder: '<selector>',
    default: '',
    help: 'serve one cluster for each namespace with these labels; its Secret --fleet-secret contains the kubeconfig',
  }),
  'fleet-secret': textFlag({
    placeholder: '<name>',
    default: 'fleet-kubeconfig',
    help: 'name of the Secret of --fleet-namespaces; its key is kubeconfig or value',
  }),
  'fleet-folder': textFlag({
    placeholder: '<directory>',
    default: '',
    help: 'serve one cluster for each kubeconfig of this directory (NAME.kubeconfig, NAME.yaml); machines and nodes are in the same cluster',
  }),
  'fleet-replica': textFlag({
    placeholder: '<name>',
    default: '',
    help: 'unique name of this replica, which determines its clusters; default: the host name',
  }),
  'fleet-weight': integerFlag({
    min: 0,
    max: 1000,
    default: 100,
    help: 'share of the clusters that this replica serves, relative to the weights of the others; 0: none',
  }),
  'fleet-metrics-clusters': integerFlag({
    min: 0,
    default: 100,
    help: 'number of clusters with their own value of the label cluster; the metrics of further clusters are summed as cluster="other"',
  }),
  'fleet-requests': integerFlag({
    min: 1,
    default: 20,
    help: 'maximum number of requests that the controllers of one cluster send at the same time',
  }),
  'fleet-total-requests': integerFlag({
    min: 1,
    default: 200,
    help: 'the same number for all clusters; a request without an answer for 5 s is not counted',
  }),
});

export type FleetFlags = FlagValues<typeof fleetFlags>;

export const isFleet = (flags: FleetFlags): boolean => flags['fleet-namespaces'] !== '' || flags['fleet-folder'] !== '';

/** A part of the name of a Lease. */
export const replicaOf = (flags: FleetFlags, host: string = hostname()): string =>
  flags['fleet-replica'] || host.toLowerCase().replace(/[^-a-z0-9.]/g, '-') || 'replica';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

interface Others {
  readonly 'target-kubeconfig': string;
  readonly 'leader-elect': boolean;
  readonly 'observe-only': boolean;
}

export function checkFleetFlags(flags: FleetFlags & Others): readonly string[] {
  if (!isFleet(flags)) return [];
  return [
    ...(flags['fleet-namespaces'] !== '' && flags['fleet-folder'] !== ''
      ? ['--fleet-namespaces and --fleet-folder exclude each other; set one of them']
      : []),
    ...(flags['target-kubeconfig'] !== ''
      ? ['--target-kubeconfig must be absent in the fleet mode: each cluster has its own kubeconfig']
      : []),
    ...(flags['leader-elect']
      ? []
      : ['--leader-elect=false is not allowed in the fleet mode: the Leases prevent two writers']),
    ...(flags['observe-only'] ? ['--observe-only is not available in the fleet mode; use it in a single process'] : []),
    ...(NAME.test(replicaOf(flags))
      ? []
      : ['--fleet-replica must contain only lower-case letters, digits, "-" and "."']),
  ];
}
