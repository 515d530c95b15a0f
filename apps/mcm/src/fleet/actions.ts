import {
  FleetAnnotations,
  holderSettings,
  isConflict,
  isForbidden,
  type KubeClient,
  type Lease,
  LeaseAnnotations,
  leases,
  namespaces,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { type Peer, peersIn, unreachableOf } from '../members/peers.ts';
import { readSource } from '../members/source.ts';
import { clusterNamed, clustersWith } from '../members/source-objects.ts';

export interface ReplicaRow {
  readonly program: string;
  readonly replica: string;
  /**
   * `stopped`: the replica has released its peer Lease. A killed replica does not release its peer Lease, which expires
   * later.
   */
  readonly state: 'live' | 'drained' | 'stopped' | 'expired';
  /** The identity of the replica's process. If the process of a replica has ended, `identity` is empty. */
  readonly identity: string;
  readonly renewedMs: number;
  readonly weight: number;
  readonly clusters: number | undefined;
  readonly chosen: readonly string[];
  readonly unreachable: readonly string[];
}

export interface FleetChange {
  readonly lease: string;
  readonly action: string;
}

const ATTEMPTS = 5;

const chosenOf = ({ metadata }: Lease): readonly string[] =>
  (metadata.annotations?.[LeaseAnnotations.FleetClusters] ?? '').split(',').filter((name) => name !== '');

async function withReplica(client: KubeClient, namespace: string, replica: string): Promise<readonly Peer[]> {
  const peers = await peersIn(client, namespace);
  if (!peers.some((peer) => peer.replica === replica))
    throw new UserError(
      `the namespace ${namespace} has no peer Lease of the replica ${replica}; the replicas are: ${[...new Set(peers.map((peer) => peer.replica))].sort().join(', ') || 'none'}`,
    );
  return peers;
}

function stateOf({ metadata, spec }: Lease, renewedMs: number): ReplicaRow['state'] {
  if ((spec?.holderIdentity ?? '') === '') return 'stopped';
  if (renewedMs > (spec?.leaseDurationSeconds ?? 0) * 1000) return 'expired';
  return metadata.annotations?.[LeaseAnnotations.FleetDrain] === 'true' ? 'drained' : 'live';
}

/**
 * Returns true if the holder of a cluster's Lease is the process. The name of a holder consists of the process identity
 * and a run number.
 */
const isRunOf = (identity: string, holder: string): boolean => identity !== '' && holder.startsWith(`${identity}.`);

export const replicaOfHolder = (holder: string, replicas: readonly ReplicaRow[]): ReplicaRow | undefined =>
  replicas.find(({ identity }) => isRunOf(identity, holder));

/**
 * Returns the replicas of all programs, each with the number of its clusters. `holders` contains the holders of the
 * Leases of all clusters.
 */
export async function replicaRows(
  client: KubeClient,
  namespace: string,
  now: Date,
  known?: readonly string[],
): Promise<readonly ReplicaRow[]> {
  const [peers, holders] = await Promise.all([peersIn(client, namespace), known ?? seedHolders(client)]);
  return peers.map(({ program, replica, lease }) => {
    const settings = holderSettings(lease) ?? {};
    const holder = lease.spec?.holderIdentity ?? '';
    const renewedMs = now.getTime() - Date.parse(lease.spec?.renewTime ?? '');
    return {
      program,
      replica,
      state: stateOf(lease, renewedMs),
      identity: holder,
      renewedMs,
      weight: Number(lease.metadata.annotations?.[LeaseAnnotations.FleetWeight] ?? settings['fleet-weight'] ?? 0),
      clusters: holders?.filter((each) => isRunOf(holder, each)).length,
      chosen: chosenOf(lease),
      unreachable: unreachableOf(lease),
    };
  });
}

/** Returns the holders of all Leases in the seed. */
const seedHolders = (client: KubeClient): Promise<readonly string[] | undefined> =>
  client
    .resource(leases)
    .list()
    .then(({ items }) => items.map(({ spec }) => spec?.holderIdentity ?? ''))
    .catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      return undefined;
    });

/**
 * Writes an annotation of a replica's peer Lease. A replica renews its peer Lease at the same time, so the write is
 * repeated after a conflict.
 */
async function annotate(
  client: KubeClient,
  { lease }: Peer,
  name: string,
  next: (lease: Lease) => string | null,
): Promise<boolean> {
  const resource = client.resource(leases, lease.metadata.namespace ?? '');
  let known = lease;
  for (let attempt = 1; ; attempt++) {
    const value = next(known);
    if ((known.metadata.annotations?.[name] ?? null) === value) return false;
    const { resourceVersion } = known.metadata;
    const body = { metadata: { resourceVersion, annotations: { [name]: value } } };
    try {
      await resource.patch(known.metadata.name, { type: 'merge', body });
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      known = await resource.get(known.metadata.name);
    }
  }
}

/** Starts or ends the drain of a replica. The drain of a replica applies to all programs of the fleet. */
export async function drain(
  client: KubeClient,
  namespace: string,
  replica: string,
  drained: boolean,
): Promise<readonly FleetChange[]> {
  const peers = (await withReplica(client, namespace, replica)).filter((peer) => peer.replica === replica);
  const changes: FleetChange[] = [];
  for (const peer of peers) {
    const changed = await annotate(client, peer, LeaseAnnotations.FleetDrain, () => (drained ? 'true' : null));
    const action = drained ? 'drain requested' : 'drain ended';
    changes.push({ lease: peer.lease.metadata.name, action: changed ? action : 'unchanged' });
  }
  return changes;
}

const MOST_WEIGHT = 1000;

/** Sets the weight of a replica. Without a weight, the flag `--fleet-weight` of the replica applies. */
export async function setWeight(
  client: KubeClient,
  namespace: string,
  replica: string,
  weight: string | undefined,
): Promise<readonly FleetChange[]> {
  if (weight !== undefined && (!/^\d+$/.test(weight) || Number(weight) > MOST_WEIGHT))
    throw new UserError(`<weight> must be an integer from 0 to ${MOST_WEIGHT}, or default, not "${weight}"`);
  const peers = (await withReplica(client, namespace, replica)).filter((peer) => peer.replica === replica);
  const changes: FleetChange[] = [];
  for (const peer of peers) {
    const changed = await annotate(client, peer, LeaseAnnotations.FleetWeight, () => weight ?? null);
    const action = weight === undefined ? 'the weight of the flag --fleet-weight applies' : `weight ${weight}`;
    changes.push({ lease: peer.lease.metadata.name, action: changed ? action : 'unchanged' });
  }
  return changes;
}

export interface HandedOver {
  readonly cluster: string;
  readonly reason: string;
}

export async function handedOver(client: KubeClient): Promise<readonly HandedOver[]> {
  try {
    const { items } = await client.resource(namespaces).list();
    return items.flatMap(({ metadata: { name: cluster, annotations } }) => {
      const reason = annotations?.[FleetAnnotations.HandedOver];
      return reason === undefined ? [] : [{ cluster, reason }];
    });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return [];
  }
}

/**
 * Returns the name of a cluster in the fleet. With Clusters of Cluster API, the argument is the name of a Cluster or its
 * namespace.
 */
async function nameInFleet(client: KubeClient, namespace: string, cluster: string): Promise<string> {
  const { flag, selector } = await readSource(client, namespace);
  if (flag !== 'fleet-clusters') return cluster;
  return clusterNamed(await clustersWith(client, selector), cluster)?.metadata.namespace ?? cluster;
}

/** Assigns a cluster to a replica. */
export async function move(
  client: KubeClient,
  namespace: string,
  given: string,
  to: string | undefined,
): Promise<readonly FleetChange[]> {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(given))
    throw new UserError(`<cluster> must be the name of a cluster in the list of /debug/fleet, not "${given}"`);
  const cluster = await nameInFleet(client, namespace, given);
  const peers = to === undefined ? await peersIn(client, namespace) : await withReplica(client, namespace, to);
  const changes: FleetChange[] = [];
  for (const peer of peers) {
    const changed = await annotate(client, peer, LeaseAnnotations.FleetClusters, (lease) => {
      const others = chosenOf(lease).filter((name) => name !== cluster);
      return [...others, ...(peer.replica === to ? [cluster] : [])].join(',') || null;
    });
    const action = peer.replica === to ? `serves ${cluster}` : `no replica is selected for ${cluster} anymore`;
    if (changed) changes.push({ lease: peer.lease.metadata.name, action });
  }
  return changes;
}
