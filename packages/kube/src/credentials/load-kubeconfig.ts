import { type Clock, realClock } from '../clock/clock.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { type FollowOptions, followFiles, type ReadText } from './follow-files.ts';
import { inClusterConfig } from './in-cluster.ts';
import { kubeconfigFiles } from './kubeconfig.ts';

/** If a kubeconfig flag has this value, mcm uses the service account of the pod instead of a file. */
export const IN_CLUSTER = 'inClusterConfig';

/** The environment from which credentials are loaded. */
export interface LoadOptions {
  readonly clock?: Clock;
  readonly onFiles?: FollowOptions['onFiles'];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly context?: string;
}

/**
 * Loads the address and credentials of a cluster from a kubeconfig file.
 * - `latest` reads the credential files again after they have changed.
 * - `loadKubeconfig` merges several files as kubectl does: for each name, the first file with this name applies.
 * @throws ConfigError
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

/**
 * Parses a kubeconfig from an API object, such as a Secret. A kubeconfig from an API object must not refer to files or
 * programs.
 */
export const kubeconfigOfText = (
  text: string,
  { source, clock }: { readonly source: string; readonly clock: Clock },
): Promise<ClusterConfig> =>
  kubeconfigFiles([source], { clock, context: undefined, readText: async () => text, complete: true });
