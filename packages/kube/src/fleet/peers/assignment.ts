import { createHash } from 'node:crypto';

export interface Peer {
  readonly name: string;
  readonly weight: number;
  readonly unreachable?: readonly string[];
  readonly clusters?: readonly string[];
}

const BITS = 2 ** 48;

/** Returns a pseudo-random number between 0 and 1 that depends only on the two names. */
function draw(peer: string, cluster: string): number {
  const digest = createHash('sha256').update(`${peer}\n${cluster}`).digest();
  return (digest.readUIntBE(0, 6) + 0.5) / BITS;
}

export const reaches = (cluster: string, { weight, unreachable }: Peer): boolean =>
  weight > 0 && unreachable?.includes(cluster) !== true;

/**
 * Selects the replica of a cluster by weighted rendezvous hashing. The assignment is only a preference, because only
 * the holder of the cluster's Lease can write.
 * - The function skips a replica that cannot reach the cluster, if another replica can.
 */
export function assigned(cluster: string, peers: readonly Peer[]): string | undefined {
  const reaching = peers.filter((peer) => reaches(cluster, peer));
  const chosen = reaching.filter(({ clusters }) => clusters?.includes(cluster));
  return best(cluster, chosen) ?? best(cluster, reaching) ?? best(cluster, peers);
}

function best(cluster: string, peers: readonly Peer[]): string | undefined {
  let first: { readonly name: string; readonly score: number } | undefined;
  for (const { name, weight } of peers) {
    if (!(weight > 0)) continue;
    const score = -weight / Math.log(draw(name, cluster));
    if (first === undefined || score > first.score || (score === first.score && name < first.name))
      first = { name, score };
  }
  return first?.name;
}
