import { type Clock, realClock } from '../clock.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { inClusterConfig } from './in-cluster.ts';
import { kubeconfigFiles } from './kubeconfig.ts';

/** The word that asks for the pod's own service account in place of a file. */
export const IN_CLUSTER = 'inClusterConfig';

/** What the loading of credentials needs of its surroundings. */
export interface LoadOptions {
  /** Paces the re-reading of token files; default: the real one. */
  readonly clock?: Clock;
  /** Where in-cluster configuration is read from; default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Of the kubeconfig; default: its current one. */
  readonly context?: string;
}

/**
 * How to reach a cluster, from a kubeconfig file or, for the word `inClusterConfig`, from what a pod is given. Nothing
 * falls back to anything else. Several files are merged as kubectl does: what an earlier one has of a name counts, and
 * those that are not there are passed over as long as one is. Throws `ConfigError`.
 */
export function loadKubeconfig(source: string | readonly string[], options: LoadOptions = {}): Promise<ClusterConfig> {
  const clock = options.clock ?? realClock;
  if (source === IN_CLUSTER) return inClusterConfig(options.env ?? process.env, clock);
  return kubeconfigFiles(typeof source === 'string' ? [source] : source, { clock, context: options.context });
}
