import { type KubeClient, realClock } from '@mcm/kube';
import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import { type Following, reportOrFollow, withoutDurations } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { readMembers } from '../members/members.ts';
import { type FleetSource, noClusterText, readSource } from '../members/source.ts';
import { age } from '../output/age.ts';
import { columns } from '../output/columns.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import {
  drain,
  type FleetChange,
  type HandedOver,
  handedOver,
  move,
  type ReplicaRow,
  replicaRows,
  setWeight,
} from './actions.ts';
import { type ClusterRow, clusterRows, holdersOf } from './clusters.ts';

export type FleetFlags = ClusterFlags & { readonly output: OutputFormat };
export type FleetStatusFlags = FleetFlags & { readonly watch?: true };
export type ClustersFlags = FleetStatusFlags & {
  /** The label selector of the clusters. */
  readonly selector?: string;
};
export type MoveFlags = FleetFlags & { readonly to?: string };
type Say = Pick<CommandEnvironment, 'say'>;

export const status = (flags: FleetStatusFlags, telling: Following): Promise<void> =>
  inCluster(flags, 'fleet', ({ client, namespace }) =>
    reportOrFollow(telling, flags, {
      read: async () => {
        const [items, given] = await Promise.all([statusRows(client, namespace), handedOver(client)]);
        return { items, handedOver: given };
      },
      text: rowLines,
      // Each renewal changes the time of a Lease, so the comparison ignores the time.
      watched: ({ items, handedOver: given }) => [items.map(({ renewedMs: _, ...row }) => row), given],
    }),
  );

/** With ClusterProfiles, the member clusters contain the Leases that show which replica serves each cluster. */
async function statusRows(client: KubeClient, namespace: string): Promise<readonly ReplicaRow[]> {
  const source = await readSource(client, namespace).catch((error: unknown) => {
    // If a fleet reads its clusters from a folder, an error occurs here. The status needs no list of the clusters,
    // so mcm ignores this error.
    if (!(error instanceof UserError)) throw error;
    return undefined;
  });
  const known =
    source?.flag === 'fleet-cluster-profiles'
      ? holdersOf(await readMembers(client, { namespace, source, depth: 'leases' }))
      : undefined;
  return replicaRows(client, namespace, realClock.now(), known);
}

export const clusters = (flags: ClustersFlags, telling: Following): Promise<void> =>
  inCluster(flags, 'fleet', ({ client, namespace }) =>
    reportOrFollow(telling, flags, {
      read: async () => {
        const source = await readSource(client, namespace, flags.selector);
        return { source, items: await clusterRows(client, { namespace, source, now: realClock.now() }) };
      },
      text: ({ items, source }) => clusterLines(items, source),
      watched: withoutDurations,
    }),
  );

export const setDrain = (replica: string, drained: boolean, flags: FleetFlags, environment: Say): Promise<void> =>
  inCluster(flags, 'fleet', async ({ client, namespace }) =>
    report(await drain(client, namespace, replica, drained), flags, environment),
  );

export const changeWeight = (replica: string, weight: string, flags: FleetFlags, environment: Say): Promise<void> =>
  inCluster(flags, 'fleet', async ({ client, namespace }) => {
    const given = weight === 'default' ? undefined : weight;
    report(await setWeight(client, namespace, replica, given), flags, environment);
  });

export const moveCluster = (cluster: string, flags: MoveFlags, environment: Say): Promise<void> =>
  inCluster(flags, 'fleet', async ({ client, namespace }) =>
    report(await move(client, namespace, cluster, flags.to), flags, environment),
  );

function report(items: readonly FleetChange[], flags: FleetFlags, { say }: Say): void {
  const lineOf = ({ lease, action }: FleetChange): string => `lease ${lease}: ${action}`;
  for (const line of formatted(flags.output, { items }, () => items.map(lineOf))) say(line);
}

/** Only clusters of Cluster API have a column with their object, because the name of their object can differ. */
function clusterLines(items: readonly ClusterRow[], source: FleetSource): string[] {
  if (items.length === 0) return [noClusterText(source)];
  const withObject = (object: string): string[] => (source.flag === 'fleet-clusters' ? [object] : []);
  return columns([
    ['CLUSTER', ...withObject('OBJECT'), 'MANAGER', 'CONTROLLER', 'RUNNING', 'PROBLEM'],
    ...items.map(({ cluster, object = '-', manager, controller, machines, running, problem }) => [
      cluster,
      ...withObject(object),
      manager,
      controller,
      `${running}/${machines}`,
      problem || '-',
    ]),
  ]);
}

interface FleetReport {
  readonly items: readonly ReplicaRow[];
  /** The clusters that a separate process serves. */
  readonly handedOver: readonly HandedOver[];
}

const rowLines = ({ items, handedOver: given }: FleetReport): string[] => [
  ...replicaLines(items),
  ...(given.length === 0 ? [] : handedOverLines(given)),
];

const handedOverLines = (clusters: readonly HandedOver[]): readonly string[] => [
  '',
  ...columns([['HANDED OVER', 'REASON'], ...clusters.map(({ cluster, reason }) => [cluster, reason])]),
];

const replicaLines = (items: readonly ReplicaRow[]): string[] =>
  items.length === 0
    ? ['The namespace contains no peer Leases of a fleet']
    : columns([
        ['PROGRAM', 'REPLICA', 'STATE', 'RENEWED', 'WEIGHT', 'CLUSTERS', 'CHOSEN', 'UNREACHABLE'],
        ...items.map(({ program, replica, state, renewedMs, weight, clusters, chosen, unreachable }) => [
          program,
          replica,
          state,
          `${age(renewedMs)} ago`,
          String(weight),
          clusters === undefined ? '?' : String(clusters),
          chosen.join(',') || '-',
          unreachable.join(',') || '-',
        ]),
      ]);
