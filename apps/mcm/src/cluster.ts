import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createClient, type KubeClient, KubeError, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { UserError } from './errors.ts';
import { version } from './version.ts';

/** Which cluster a command talks to, and where in it. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  /** Of the nodes' cluster, where it is another. */
  readonly targetKubeconfig?: string;
  readonly dataDir: string;
  readonly namespace: string;
}

/** A client, and how to let go of its connections. */
export interface Cluster {
  /** Of the cluster of the machine objects. */
  readonly client: KubeClient;
  /** Of the nodes' cluster; the same client where it is the same. */
  readonly target: KubeClient;
  readonly namespace: string;
  close(): Promise<void>;
}

/**
 * The kubeconfig in force: the flag, else `$KUBECONFIG`, else that of the local instance, else the user's own.
 * @throws UserError when none of them is there.
 */
export function findKubeconfig(
  flags: ClusterFlags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home = homedir(),
): string {
  if (flags.kubeconfig) return flags.kubeconfig;
  if (env.KUBECONFIG) return oneOf(env.KUBECONFIG);
  const tried = [join(flags.dataDir, 'kubeconfig'), join(home, '.kube', 'config')];
  const found = tried.find((file) => existsSync(file));
  if (found) return found;
  throw new UserError(
    `no cluster: neither --kubeconfig nor $KUBECONFIG is given, and ${tried.join(' and ')} are not there; start one with: mcm up`,
  );
}

/** Of a list, as kubectl takes one, the file that is there. Several would have to be merged, which is not done here. */
function oneOf(list: string): string {
  const files = list.split(delimiter).filter((file) => file !== '');
  const there = files.filter((file) => existsSync(file));
  if (there.length > 1)
    throw new UserError(`$KUBECONFIG names several files, ${there.join(' and ')}; name one of them: --kubeconfig`);
  return there[0] ?? list;
}

/**
 * What is told when a request got no answer at all: which cluster it was, why, and what would help.
 * @returns the error as it is when it is another one.
 */
export function noAnswer(error: unknown, flags: ClusterFlags): unknown {
  if (!(error instanceof KubeError) || error.code !== 0) return error;
  const file = findKubeconfig(flags);
  const isLocal = resolve(file) === resolve(join(flags.dataDir, 'kubeconfig'));
  const help = isLocal ? '; no instance runs on it: start it with: mcm up' : '';
  return new UserError(`the cluster of ${file} does not answer${help} (${error.message})`);
}

/** Connects to the clusters that the flags name. Throws `ConfigError` for a kubeconfig that is none. */
export async function connect(flags: ClusterFlags, command: string): Promise<Cluster> {
  const to = async (kubeconfig: string) => {
    const transport = undiciTransport(await loadKubeconfig(kubeconfig));
    const client = createClient({ transport, userAgent: `mcm/${version()} (${command})`, clock: realClock });
    return { client, close: () => transport.close() };
  };
  const control = await to(findKubeconfig(flags));
  const target = flags.targetKubeconfig === undefined ? control : await to(flags.targetKubeconfig);
  return {
    client: control.client,
    target: target.client,
    namespace: flags.namespace,
    close: async () => {
      await Promise.all([control.close(), target === control ? undefined : target.close()]);
    },
  };
}
