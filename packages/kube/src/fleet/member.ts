import { createHash } from 'node:crypto';
import type { KubeObject } from '../contract/objects.ts';

export interface Member {
  /** The unique name of the cluster: the namespace in the seed, or the name of the file. */
  readonly name: string;
  /** The namespace of the Machine objects (default: the namespace in the context of the kubeconfig). */
  readonly namespace: string | undefined;
  /** The kubeconfig of the target cluster, as YAML. */
  readonly kubeconfig: string;
  readonly source: string;
  /** The region of the cluster, or undefined if the region is unknown. Clusters of one region can fail together. */
  readonly region?: string | undefined;
  /** The labels of the cluster's namespace in the seed. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The weight of the cluster when the replica distributes its request slots (default: 1). */
  readonly share?: number | undefined;
  /**
   * The folder for relative paths in the kubeconfig. Without a folder, the kubeconfig must not refer to files or
   * programs.
   */
  readonly folder: string | undefined;
  /** Object that receives events about the cluster. */
  readonly about: KubeObject | undefined;
}

/** Receives the clusters that a discovery finds. Repeated calls with equal arguments have no effect. */
export interface Discovered {
  /** Reports that a cluster exists. `member` replaces the earlier data of the cluster. */
  engage(member: Member): void;
  /** Reports a cluster that exists but cannot be served. `problem` contains the object and the fix. */
  refuse(name: string, problem: string): void;
  /** Reports a cluster that has its own process. `reason` is the text of the annotation. */
  handOver(name: string, reason: string): void;
  disengage(name: string): void;
  /** Reports that the namespace of the cluster is being deleted. */
  deleting(name: string): void;
}

export interface Discovery {
  readonly source: string;
  run(found: Discovered, signal: AbortSignal): Promise<void>;
}

/** Returns a text that changes with the kubeconfig and contains no secrets. */
export const versionOf = ({ kubeconfig, namespace, source }: Member): string =>
  createHash('sha256')
    .update(JSON.stringify([kubeconfig, namespace, source]))
    .digest('base64url');
