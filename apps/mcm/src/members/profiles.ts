import {
  conformingClient,
  errorText,
  FleetSourceLabels,
  type KubeClient,
  type KubeObject,
  type Secret,
  secrets,
} from '@mcm/kube';
import { printable } from '../output/printable.ts';
import { profileConfig } from './kubeconfig.ts';
import { openCluster } from './open.ts';
import { profilesWith } from './source-objects.ts';

/** The maximum number of clusters that a command reads at the same time. */
const AT_ONCE = 20;
/** The time for all requests to one cluster. A cluster that does not respond delays a command by at most this time. */
const TIME_LIMIT_MS = 5_000;

/** A client for the cluster that a ClusterProfile describes, and the namespace of the machine objects. */
export interface ProfileClient {
  readonly client: KubeClient;
  readonly namespace: string;
}

/** The result for one ClusterProfile. If the cluster cannot be read, `value` is undefined, and `problem` is the error. */
export interface ProfileResult<T> {
  readonly profile: KubeObject;
  readonly value: T | undefined;
  readonly problem: string;
}

/** Connects to the clusters of all selected ClusterProfiles. An error of one cluster does not affect the others. */
export async function inProfiles<T>(
  hub: KubeClient,
  namespace: string,
  selector: string,
  work: (opened: ProfileClient, signal: AbortSignal) => Promise<T>,
): Promise<readonly ProfileResult<T>[]> {
  const label = FleetSourceLabels.Profile;
  const [profiles, { items }] = await Promise.all([
    profilesWith(hub, namespace, selector),
    hub.resource<Secret>(secrets, namespace).list({ labelSelector: label }),
  ]);
  const labelled = Map.groupBy(items, ({ metadata }) => metadata.labels?.[label] ?? '');
  const results: ProfileResult<T>[] = [];
  const left = profiles[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const profile of left)
      results.push(await readProfile(profile, labelled.get(profile.metadata.name) ?? [], work));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

async function readProfile<T>(
  profile: KubeObject,
  labelled: readonly Secret[],
  work: (opened: ProfileClient, signal: AbortSignal) => Promise<T>,
): Promise<ProfileResult<T>> {
  const { name } = profile.metadata;
  try {
    const { config, namespace } = await profileConfig(name, labelled);
    const opened = openCluster(config, 'fleet');
    const warn = (line: string): void => void process.stderr.write(`mcm: ${printable(`${name}: ${line}`)}\n`);
    try {
      const client = conformingClient(opened.client, warn);
      const value = await work({ client, namespace }, AbortSignal.timeout(TIME_LIMIT_MS));
      return { profile, value, problem: '' };
    } finally {
      await opened.close();
    }
  } catch (error) {
    return { profile, value: undefined, problem: `cannot read the cluster: ${errorText(error)}` };
  }
}
