import { createHash } from 'node:crypto';
import type { KubeObject } from '../contract/objects.ts';

/** One cluster that a discovery has found. */
export interface Member {
  /** Unique name: the namespace in the seed, or the name of the file. */
  readonly name: string;
  /** Namespace of the machine objects. Undefined for the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** The kubeconfig of the target cluster, as YAML. */
  readonly kubeconfig: string;
  /** Origin of the kubeconfig, for messages. */
  readonly source: string;
  /** Folder for relative paths. Undefined if the kubeconfig must not refer to files or programs. */
  readonly folder: string | undefined;
  /** Object that receives events about the cluster. */
  readonly about: KubeObject | undefined;
}

/** Receives the result of a discovery. Repeated calls with the same arguments have no effect. */
export interface Discovered {
  /** A cluster exists. If it was known, `member` replaces it. */
  engage(member: Member): void;
  /** A cluster exists but cannot be served: `problem` names the object and the fix. */
  refuse(name: string, problem: string): void;
  /** A cluster no longer exists. */
  disengage(name: string): void;
}

/** Finds clusters until the signal aborts. */
export interface Discovery {
  /** The source of the clusters, for the log. */
  readonly source: string;
  run(found: Discovered, signal: AbortSignal): Promise<void>;
}

/** Returns a text that changes with the kubeconfig. The text contains no secrets. */
export const versionOf = ({ kubeconfig, namespace, source }: Member): string =>
  createHash('sha256')
    .update(JSON.stringify([kubeconfig, namespace, source]))
    .digest('base64url');
