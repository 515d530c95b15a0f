import { type Clock, realClock } from '../clock/clock.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { type FollowOptions, followFiles, type ReadText } from './follow-files.ts';
import { inClusterConfig } from './in-cluster.ts';
import { kubeconfigFiles } from './kubeconfig.ts';

/** Value of a kubeconfig flag that selects the service account of the pod instead of a file. */
export const IN_CLUSTER = 'inClusterConfig';

/** Environment for loading credentials. */
export interface LoadOptions {
  /** The clock that determines when files are read again. The default is the system clock. */
  readonly clock?: Clock;
  /** Called with the result of each check of the files by `latest`. */
  readonly onFiles?: FollowOptions['onFiles'];
  /** Environment variables of the in-cluster configuration. The default is the variables of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Name of the context in the kubeconfig. The default is the current context of the kubeconfig. */
  readonly context?: string;
}

/**
 * Loads the address and credentials of a cluster from a kubeconfig file. For the text `inClusterConfig`, the function loads
 * the credentials of the pod. If one source fails, no other source is tried.
 * - `latest` reads files again after they have changed.
 * - Several files are merged as in kubectl: for each name, the first file with this name applies. Missing files are ignored
 *   if at least one exists.
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
 * Returns the address and credentials of a kubeconfig that a client wrote to an object of the API server. Such a
 * kubeconfig must not refer to files or programs.
 * @param source Origin of the text, for messages
 * @throws ConfigError
 */
export const kubeconfigOfText = (
  text: string,
  { source, clock }: { readonly source: string; readonly clock: Clock },
): Promise<ClusterConfig> =>
  kubeconfigFiles([source], { clock, context: undefined, readText: async () => text, complete: true });
