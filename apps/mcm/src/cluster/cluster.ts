import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { GROUP } from '@mcm/api';
import {
  conformingClient,
  createClient,
  type KubeClient,
  KubeError,
  loadKubeconfig,
  realClock,
  undiciTransport,
  unreached,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';
import { printable } from '../output/printable.ts';
import { lackText } from './allowed.ts';

/** Which cluster a command talks to, and where in it. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  /** Of the nodes' cluster, where it is another. */
  readonly targetKubeconfig?: string;
  readonly dataDir: string;
  /** Of the kubeconfig; default: its current one. */
  readonly context?: string;
  /** Default: that of the context, else `default`. */
  readonly namespace?: string;
}

/** Clients, and how to let go of their connections. What they read is of its type, whatever is stored. */
export interface Cluster {
  /** Of the cluster of the machine objects. */
  readonly client: KubeClient;
  /** Of the nodes' cluster; the same client where it is the same. */
  readonly target: KubeClient;
  readonly namespace: string;
  /** The same clients with objects as they are stored; absent: the clients themselves. */
  readonly asStored?: { readonly client: KubeClient; readonly target: KubeClient };
  close(): Promise<void>;
}

/**
 * The files of the kubeconfig in force: the flag's, else those of `$KUBECONFIG`, else that of the local instance, else the
 * user's own.
 * @throws UserError when none of them is there.
 */
export function findKubeconfigs(
  flags: ClusterFlags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home = homedir(),
): readonly string[] {
  if (flags.kubeconfig) return [flags.kubeconfig];
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  if (listed.length > 0) return listed;
  const tried = [join(flags.dataDir, 'kubeconfig'), join(home, '.kube', 'config')];
  const found = tried.find((file) => existsSync(file));
  if (found) return [found];
  throw new UserError(
    `no cluster: neither --kubeconfig nor $KUBECONFIG is given, and ${tried.join(' and ')} are not there; start one with: mcm up`,
  );
}

/**
 * The message for a request that a cluster did not answer, or answered without a hint.
 * @returns the error unchanged if it is another one.
 */
export function inWords(error: unknown, flags: ClusterFlags): unknown {
  if (!(error instanceof KubeError)) return error;
  const { message, code, status } = error;
  const lack = lackText(error);
  if (lack !== undefined) return new UserError(`${message}; ${lack}`);
  // Of an object that is not there its name is told; of a kind, nothing.
  const lacksKind = code === 404 && message.includes(`/${GROUP}/`) && !status.details?.name;
  if (code !== 0 && code !== 401 && !lacksKind) return error;
  const files = findKubeconfigs(flags);
  const cluster = `the cluster of ${files.join(' and ')}`;
  if (code === 401)
    return new UserError(`${cluster} does not take these credentials: they are wrong or have expired (${message})`);
  if (lacksKind)
    return new UserError(
      `${cluster} has no machines: CRDs of ${GROUP} are missing; see: mcm install --help (${message})`,
    );
  const isLocal = files.every((file) => resolve(file) === resolve(join(flags.dataDir, 'kubeconfig')));
  const fault = unreached(error);
  const help = isLocal ? '; no instance runs on it: start it with: mcm up' : fault === undefined ? '' : `: ${fault}`;
  return new UserError(`${cluster} does not answer${help} (${message.trim()})`);
}

const onStderr = (line: string): void => void process.stderr.write(`mcm: ${printable(line)}\n`);

/**
 * Connects to the clusters that the flags name. Throws `ConfigError` for a kubeconfig that is none.
 * @param warn Told once of each object that is not of its type.
 */
export async function connect(
  flags: ClusterFlags,
  command: string,
  env = process.env,
  warn: (line: string) => void = onStderr,
): Promise<Cluster> {
  const to = async (files: readonly string[], context?: string) => {
    const config = await loadKubeconfig(files, context === undefined ? {} : { context });
    const transport = undiciTransport(config);
    const client = createClient({ transport, userAgent: `mcm/${version()} (${command})`, clock: realClock });
    return { client, namespace: config.namespace, close: () => transport.close() };
  };
  const control = await to(findKubeconfigs(flags, env), flags.context);
  const target = flags.targetKubeconfig === undefined ? control : await to([flags.targetKubeconfig]);
  const told = new Set<string>();
  const malformed = (sentence: string): void => {
    if (told.has(sentence)) return;
    told.add(sentence);
    warn(sentence);
  };
  const client = conformingClient(control.client, malformed);
  return {
    client,
    target: target === control ? client : conformingClient(target.client, malformed),
    asStored: { client: control.client, target: target.client },
    namespace: flags.namespace ?? control.namespace ?? 'default',
    close: async () => {
      await Promise.all([control.close(), target === control ? undefined : target.close()]);
    },
  };
}

/** Connects, calls `work`, and closes the connections, also after an error. */
export async function inCluster<T>(
  flags: ClusterFlags,
  name: string,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await connect(flags, name);
  try {
    return await work(cluster);
  } catch (error) {
    throw inWords(error, flags);
  } finally {
    await cluster.close();
  }
}
