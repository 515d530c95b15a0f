import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { GROUP } from '@mcm/api';
import {
  conformingClient,
  IN_CLUSTER,
  type KubeClient,
  KubeError,
  loadKubeconfig,
  realClock,
  unreached,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { ControllerHealth } from '../controllers/health.ts';
import { isOfDataDir, runningInstance, silenceText, silentProgramsOf } from '../instance/local-instance.ts';
import { memberConfig } from '../members/kubeconfig.ts';
import { openCluster } from '../members/open.ts';
import { printable } from '../output/printable.ts';
import { lackText } from './allowed.ts';

/**
 * The API groups that the commands read. The group of MachineConfigs is a literal, because an import of its package
 * would slow down the start.
 */
const GROUPS: readonly string[] = [GROUP, 'machineconfiguration.openshift.io'];

export interface ClusterFlags {
  readonly kubeconfig?: string | undefined;
  readonly targetKubeconfig?: string;
  readonly dataDir: string;
  readonly context?: string | undefined;
  /**
   * The namespace of the machine objects. If `namespace` is undefined, the namespace of the context or `default`
   * applies.
   */
  readonly namespace?: string | undefined;
  /** The name of the cluster, if the command is about one cluster of a fleet. */
  readonly cluster?: string | undefined;
}

/**
 * The connections of a command. The clients remove fields with a wrong type from the objects that they read, so a
 * malformed object does not break the command.
 */
export interface Cluster {
  readonly client: KubeClient;
  /** If the target cluster is the control cluster, `target` equals `client`. */
  readonly target: KubeClient;
  readonly namespace: string;
  /** If `asStored` is undefined, `client` and `target` already return stored objects. */
  readonly asStored?: { readonly client: KubeClient; readonly target: KubeClient };
  /**
   * Reads a path of the API server as text, such as the log of a pod.
   * @throws Error with the response of the server
   */
  readonly text?: (path: string) => Promise<string>;
  /** Returns the programs of the local instance that do not respond. */
  readonly programs?: () => readonly ControllerHealth[];
  close(): Promise<void>;
}

/**
 * Finds the kubeconfig files. The first source that exists is used: the flag, `$KUBECONFIG`, the local instance, the
 * default file of the user.
 * @throws UserError if no file exists
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
    `no cluster: neither --kubeconfig nor $KUBECONFIG is given, and ${tried.join(' and ')} do not exist; start a local cluster with: mcm up`,
  );
}

/**
 * Converts a connection error or a refused credential to a message with a hint.
 * @returns any other error unchanged
 */
export function inWords(error: unknown, flags: ClusterFlags): unknown {
  if (!(error instanceof KubeError)) return error;
  const { message, code, status } = error;
  const lack = lackText(error);
  if (lack !== undefined) return new UserError(`${message}; ${lack}`);
  if (code === 400 && status.message?.startsWith('unable to parse requirement'))
    return new UserError(`the label selector is invalid: ${status.message}`);
  // A 404 error about a missing object contains its name. If the error contains no name, the cluster does not have the
  // kind.
  const group = status.details?.name ? undefined : GROUPS.find((one) => message.includes(`/${one}/`));
  const lacksKind = code === 404 && group !== undefined;
  if (code !== 0 && code !== 401 && !lacksKind) return error;
  const files = findKubeconfigs(flags);
  const cluster = `the cluster of kubeconfig ${files.join(' and ')}`;
  if (code === 401) return new UserError(`${cluster} refuses the credentials, which are wrong or expired (${message})`);
  if (lacksKind)
    return new UserError(
      `${cluster} has no ${group === GROUP ? 'machines' : 'machine configs'}: CRDs of ${group} are missing; see: mcm install --help (${message})`,
    );
  const fault = unreached(error);
  const help = isOfDataDir(files, flags.dataDir)
    ? `; ${silenceText(runningInstance(flags.dataDir), realClock.now())}`
    : fault === undefined
      ? ''
      : `: ${fault}`;
  return new UserError(`${cluster} does not respond${help} (${message.trim()})`);
}

const onStderr = (line: string): void => void process.stderr.write(`mcm: ${printable(line)}\n`);

/**
 * Connects to the clusters that the flags select.
 * @param warn called once for each malformed object
 * @throws ConfigError for an invalid kubeconfig
 */
export async function connect(
  flags: ClusterFlags,
  command: string,
  env = process.env,
  warn: (line: string) => void = onStderr,
): Promise<Cluster> {
  const to = async (files: readonly string[], context?: string) => {
    // In a pod, `inClusterConfig` uses the service account of the pod.
    const [only, ...others] = files;
    const source = only === IN_CLUSTER && others.length === 0 ? IN_CLUSTER : files;
    return openCluster(await loadKubeconfig(source, context === undefined ? {} : { context }), command);
  };
  const files = findKubeconfigs(flags, env);
  const control = await to(files, flags.context);
  const { targetKubeconfig, cluster: member } = flags;
  const inFleet = member === undefined || targetKubeconfig !== undefined ? undefined : member;
  const inPod = targetKubeconfig === IN_CLUSTER && files[0] === IN_CLUSTER;
  // As in the flags of the controllers, the value `none` means that no target cluster exists.
  const own = targetKubeconfig === undefined || targetKubeconfig === 'none' || inPod;
  const home = flags.namespace ?? control.namespace ?? 'default';
  const found = inFleet === undefined ? undefined : await memberConfig(control.client, inFleet, home);
  const ofMember = found === undefined ? undefined : openCluster(found.config, command);
  const target = ofMember ?? (own ? control : await to([targetKubeconfig]));
  // If the fleet has no seed, the member cluster contains both the machine objects and the nodes.
  const objects = found?.inSeed === false ? target : control;
  const reported = new Set<string>();
  const malformed = (sentence: string): void => {
    if (reported.has(sentence)) return;
    reported.add(sentence);
    warn(sentence);
  };
  const client = conformingClient(objects.client, malformed);
  return {
    client,
    target: target === objects ? client : conformingClient(target.client, malformed),
    asStored: { client: objects.client, target: target.client },
    text: objects.text,
    programs: () => (isOfDataDir(files, flags.dataDir) ? silentProgramsOf(flags.dataDir) : []),
    namespace: found?.namespace ?? member ?? home,
    close: async () => {
      await Promise.all([control.close(), target === control ? undefined : target.close()]);
    },
  };
}

/** Connects to the clusters and calls `work` with the clients. The connections are closed even if `work` fails. */
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
