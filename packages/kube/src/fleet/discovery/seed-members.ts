import type { KubeObject } from '../../contract/objects.ts';
import type { Secret } from '../../types/core.ts';
import { FleetAnnotations } from '../../types/fleet-annotations.ts';
import type { Discovered } from '../member.ts';
import type { FreedSecrets } from './freed-secrets.ts';

const REGION = 'topology.kubernetes.io/region';
const MOST_SHARE = 100;

/** Reads the share of a cluster. */
function shareOf({ metadata }: KubeObject): number {
  const share = Number(metadata.annotations?.[FleetAnnotations.Share] ?? 1);
  return Number.isInteger(share) && share >= 1 && share <= MOST_SHARE ? share : 1;
}

export interface SeedCluster {
  readonly namespace: KubeObject;
  readonly labelled: KubeObject;
  readonly secretName: string;
  readonly secret: Secret | undefined;
  readonly keys: readonly string[];
}

/** Adds the clusters of a seed to the fleet, and removes them from the fleet. */
export class SeedMembers {
  readonly #found: Discovered;
  readonly #free: FreedSecrets | undefined;
  /** This process removes the finalizer from the Secrets of these clusters. Other fleets also use this finalizer. */
  readonly #engaged = new Set<string>();

  constructor(found: Discovered, free: FreedSecrets | undefined) {
    this.#found = found;
    this.#free = free;
  }

  leaves(name: string, secret: Secret | undefined): void {
    this.#found.disengage(name);
    this.#release(name, secret);
  }

  refuse(name: string, problem: string): void {
    this.#found.refuse(name, problem);
  }

  look({ namespace, labelled, secretName, secret, keys }: SeedCluster): void {
    const { name } = namespace.metadata;
    const ends = namespace.metadata.deletionTimestamp !== undefined;
    // A terminating namespace must not wait for a process that may never start.
    const handedOver = ends ? undefined : namespace.metadata.annotations?.[FleetAnnotations.HandedOver];
    if (handedOver !== undefined) {
      this.#found.handOver(name, handedOver);
      this.#release(name, secret);
      return;
    }
    if (!ends && secret?.metadata.deletionTimestamp !== undefined) void this.#free?.ifNamespaceStays(secret);
    const data = keys.map((key) => secret?.data?.[key]).find((value) => value !== undefined);
    if (secret !== undefined && data !== undefined) {
      const kubeconfig = Buffer.from(data, 'base64').toString('utf8');
      const source = `Secret ${name}/${secretName}`;
      const { labels } = labelled.metadata;
      const region = labels?.[REGION];
      this.#engaged.add(name);
      this.#found.engage({
        name,
        namespace: name,
        kubeconfig,
        source,
        region,
        labels,
        share: shareOf(namespace),
        folder: undefined,
        about: secret,
      });
    }
    if (ends) this.#found.deleting(name);
    // The machines of a terminating namespace still need their controllers, even if the Secret is already deleted.
    if (ends || data !== undefined) return;
    const where = `Secret ${name}/${secretName}`;
    this.#found.refuse(
      name,
      secret === undefined
        ? `${where} does not exist; create the Secret with the kubeconfig of the target cluster`
        : `${where} has no key ${keys.join(' or ')}; add this key with the kubeconfig of the target cluster`,
    );
  }

  #release(name: string, secret: Secret | undefined): void {
    if (this.#engaged.delete(name) && secret !== undefined) void this.#free?.now(secret);
  }
}
