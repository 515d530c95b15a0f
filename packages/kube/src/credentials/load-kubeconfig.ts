import { type Clock, realClock } from '../clock/clock.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { type FollowOptions, followFiles, type ReadText } from './follow-files.ts';
import { inClusterConfig } from './in-cluster.ts';
import { kubeconfigFiles } from './kubeconfig.ts';

/** The value that selects the service account of the pod instead of a file. */
export const IN_CLUSTER = 'inClusterConfig';

/** Environment for loading credentials. */
export interface LoadOptions {
  /** Controls when files are read again. Default: the system clock. */
  readonly clock?: Clock;
  /** Gets the result of each check of the files by `latest`. */
  readonly onFiles?: FollowOptions['onFiles'];
  /** Environment variables of the in-cluster configuration. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Context of the kubeconfig. Default: its current context. */
  readonly context?: string;
}

/**
 * Loads address and credentials of a cluster from a kubeconfig file, or from the pod for the word `inClusterConfig`. There is no fallback.
 * - `latest` reads files again when they have changed.
 * - Several files are merged as kubectl does: the first file with a name wins. Missing files are ignored if at least one exists.
 * Throws `ConfigError`.
 */
export function loadKubeconfig(source: string | readonly string[], options: LoadOptions = {}): Promise<ClusterConfig> {
  const { clock = realClock, env = process.env, context, onFiles } = options;
  const paths = typeof source === 'string' ? [source] : source;
  const load = (readText: ReadText): Promise<ClusterConfig> =>
    source === IN_CLUSTER
      ? inClusterConfig(env, { clock, readText })
      : kubeconfigFiles(paths, { clock, context, readText });
  return followFiles(load, { clock, onFiles });
}
