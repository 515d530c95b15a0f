import { type Clock, realClock } from '../clock/clock.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { type FollowOptions, followFiles, type ReadText } from './follow-files.ts';
import { inClusterConfig } from './in-cluster.ts';
import { kubeconfigFiles } from './kubeconfig.ts';

/** The word that asks for the pod's own service account in place of a file. */
export const IN_CLUSTER = 'inClusterConfig';

/** What the loading of credentials needs of its environment. */
export interface LoadOptions {
  /** Paces the re-reading of files; default: the real one. */
  readonly clock?: Clock;
  /** Is told after each look at the files, by `latest` of what was loaded. */
  readonly onFiles?: FollowOptions['onFiles'];
  /** Where in-cluster configuration is read from; default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Of the kubeconfig; default: its current one. */
  readonly context?: string;
}

/**
 * How to reach a cluster, from a kubeconfig file or, for the word `inClusterConfig`, from what a pod is given. Nothing
 * falls back to anything else. Files that change are read again: what they say then is what `latest` gives. Several files are merged as kubectl does: what an earlier one has of a name counts, and
 * those that are not there are passed over as long as one is. Throws `ConfigError`.
 */
export function loadKubeconfig(source: string | readonly string[], options: LoadOptions = {}): Promise<ClusterConfig> {
  const { clock = realClock, env = process.env, context, onFiles } = options;
  const paths = typeof source === 'string' ? [source] : source;
  const load = (readText: ReadText): Promise<ClusterConfig> =>
    source === IN_CLUSTER
      ? inClusterConfig(env, { clock, readText })
      : kubeconfigFiles(paths, { clock, context, readText });
  return followFiles(load, { clock, ...(onFiles && { onFiles }) });
}
