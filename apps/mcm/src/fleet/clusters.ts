import { phaseOf } from '@mcm/api';
import { type KubeClient, type Lease, LeaseAnnotations, withoutUndefined } from '@mcm/kube';
import { type FleetMember, readMembers } from '../members/members.ts';
import type { FleetSource } from '../members/source.ts';
import { age } from '../output/age.ts';
import { type ReplicaRow, replicaOfHolder, replicaRows } from './actions.ts';

export interface ClusterRow {
  readonly cluster: string;
  /** The object that defines the cluster, such as `cluster/a`. For a labelled namespace, `object` is undefined. */
  readonly object?: string;
  /** The replica whose manager serves the cluster. */
  readonly manager: string;
  readonly controller: string;
  readonly machines: number;
  readonly running: number;
  readonly problem: string;
}

const MANAGER = 'machine-controller-manager';
const CONTROLLER = 'machine-controller';

export interface ClusterQuery {
  readonly namespace: string;
  readonly source: FleetSource;
  readonly now: Date;
}

/** Returns the clusters of a fleet. */
export async function clusterRows(
  client: KubeClient,
  { namespace, source, now }: ClusterQuery,
): Promise<readonly ClusterRow[]> {
  const members = await readMembers(client, { namespace, source, depth: 'machines' });
  return rowsOf(members, await replicaRows(client, namespace, now, holdersOf(members)), now);
}

export const holdersOf = (members: readonly FleetMember[]): readonly string[] =>
  members.flatMap(({ leases }) => leases.map(({ spec }) => spec?.holderIdentity ?? ''));

export function rowsOf(
  members: readonly FleetMember[],
  replicas: readonly ReplicaRow[],
  now: Date,
): readonly ClusterRow[] {
  const isFine = ({ problem }: ClusterRow): number => Number(problem === '');
  return members
    .map((member) => rowOf(member, replicas, now))
    .toSorted((a, b) => isFine(a) - isFine(b) || (a.cluster < b.cluster ? -1 : 1));
}

function rowOf(member: FleetMember, replicas: readonly ReplicaRow[], now: Date): ClusterRow {
  const { cluster, object, leases, machines: own, deleting, handedOver, problem } = member;
  const running = own.filter((machine) => phaseOf(machine) === 'Running').length;
  const held = [MANAGER, CONTROLLER].map((name) =>
    heldBy(
      name,
      leases.find(({ metadata }) => metadata.name === name),
      replicas,
    ),
  );
  const problems = [
    deleting === undefined ? '' : deletionProblem(deleting, own.length, held),
    problem,
    handOverProblem(handedOver, held),
    ...held.map((one) => leaseProblem(one, now)),
    ...held.map((one) => reachProblem(cluster, one)),
    running < own.length ? `${own.length - running} of ${own.length} machines are not Running` : '',
  ];
  const [manager = '-', controller = '-'] = held.map(
    ({ identity, replica, lease }) => replica?.replica ?? (identity || (isHibernated(lease) ? 'hibernated' : '-')),
  );
  return withoutUndefined({
    cluster,
    object,
    manager,
    controller,
    machines: own.length,
    running,
    problem: problems.find((text) => text !== '') ?? '',
  });
}

/** The Lease of a program in the namespace of a cluster. */
interface Held {
  readonly name: string;
  readonly lease: Lease | undefined;
  readonly identity: string;
  readonly replica: ReplicaRow | undefined;
}

function heldBy(name: string, lease: Lease | undefined, replicas: readonly ReplicaRow[]): Held {
  const identity = lease?.spec?.holderIdentity ?? '';
  return { name, lease, identity, replica: replicaOfHolder(identity, replicas) };
}

/** Returns true if a replica has released a cluster's Lease because the cluster has no machines and nothing to do. */
const isHibernated = (lease: Lease | undefined): boolean =>
  lease?.metadata.annotations?.[LeaseAnnotations.FleetHibernated] === String(lease?.spec?.leaseTransitions ?? 0);

function leaseProblem({ name, lease, identity }: Held, now: Date): string {
  if (identity === '' && isHibernated(lease)) return '';
  if (identity === '') return `no process holds the Lease ${name}`;
  const lateMs =
    now.getTime() - Date.parse(lease?.spec?.renewTime ?? '') - (lease?.spec?.leaseDurationSeconds ?? 0) * 1000;
  return lateMs > 0 ? `the Lease ${name} expired ${age(lateMs)} ago` : '';
}

function handOverProblem(reason: string | undefined, held: readonly Held[]): string {
  const free = held.filter(({ identity }) => identity === '').map(({ name }) => name);
  return reason === undefined || free.length === 0
    ? ''
    : `the cluster needs a separate process, but no process holds the Lease ${free.join(' and the Lease ')}: ${reason}`;
}

/**
 * Returns the problem of a cluster whose namespace or Cluster is being deleted. Only the holder of the cluster's Lease can write
 * to the cluster.
 */
function deletionProblem(what: string, machinesLeft: number, held: readonly Held[]): string {
  const gone = held.flatMap(({ name, lease }) => (lease === undefined ? [name] : []));
  const leases =
    machinesLeft === 0 || gone.length === 0 ? '' : `; the Lease ${gone.join(' and the Lease ')} does not exist`;
  return `the ${what} is being deleted; machines left: ${machinesLeft}${leases}`;
}

const reachProblem = (cluster: string, { replica }: Held): string =>
  replica?.unreachable.includes(cluster)
    ? `${replica.program} of replica ${replica.replica} cannot reach the API server`
    : '';
