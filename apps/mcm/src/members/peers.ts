import { holderSettings, type KubeClient, type Lease, leases } from '@mcm/kube';

const PEER = /^(?<program>.+?)-fleet-(?<replica>.+)$/;

export interface Peer {
  readonly program: string;
  readonly replica: string;
  readonly lease: Lease;
}

/** Returns the clusters that are unreachable for a replica, from its peer Lease. */
export function unreachableOf(lease: Lease): readonly string[] {
  const { unreachable } = holderSettings(lease) ?? {};
  return Array.isArray(unreachable) ? unreachable.map(String) : [];
}

/** Returns the replica to which a peer Lease belongs. For any other Lease, the result is undefined. */
export function peerOf(lease: Lease): Peer | undefined {
  const { program, replica } = PEER.exec(lease.metadata.name)?.groups ?? {};
  return program === undefined || replica === undefined ? undefined : { program, replica, lease };
}

export async function peersIn(client: KubeClient, namespace: string, signal?: AbortSignal): Promise<readonly Peer[]> {
  const { items } = await client.resource(leases, namespace).list(signal === undefined ? {} : { signal });
  return items.flatMap((lease) => peerOf(lease) ?? []);
}
