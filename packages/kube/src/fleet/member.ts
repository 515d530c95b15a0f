import { createHash } from 'node:crypto';
import type { KubeObject } from '../contract/objects.ts';

export interface Member {
  readonly name: string;
  /** The namespace of the Machine objects (default: the namespace in the context of the kubeconfig). */
  readonly namespace: string | undefined;
  readonly kubeconfig: string;
  readonly source: string;
  /** The region of the cluster, or undefined if the region is unknown. */
  readonly region?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly share?: number | undefined;
  /** Without a folder for relative paths, the kubeconfig must not refer to files or programs. */
  readonly folder: string | undefined;
  readonly about: KubeObject | undefined;
}

/** Receives the clusters that a discovery finds. */
export interface Discovered {
  /** Reports that a cluster exists. */
  engage(member: Member): void;
  /** Reports a cluster that exists but cannot be served. */
  refuse(name: string, problem: string): void;
  /** Reports a cluster that has its own process. */
  handOver(name: string, reason: string): void;
  disengage(name: string): void;
  deleting(name: string): void;
}

export interface Discovery {
  readonly source: string;
  run(found: Discovered, signal: AbortSignal): Promise<void>;
}

export const versionOf = ({ kubeconfig, namespace, source }: Member): string =>
  createHash('sha256')
    .update(JSON.stringify([kubeconfig, namespace, source]))
    .digest('base64url');
