import { realClock } from '@mcm/kube';
import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import { type Following, reportOrFollow, withoutDurations } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
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
import { type ClusterRow, clusterRows } from './clusters.ts';

export type FleetFlags = ClusterFlags & { readonly output: OutputFormat };
export type FleetStatusFlags = FleetFlags & { readonly watch?: true };
export type ClustersFlags = FleetStatusFlags & { readonly selector: string };
export type MoveFlags = FleetFlags & { readonly to?: string };
type Say = Pick<CommandEnvironment, 'say'>;

export const status = (flags: FleetStatusFlags, telling: Following): Promise<void> =>
  inCluster(flags, 'fleet', ({ client, namespace }) =>
    reportOrFollow(telling, flags, {
      read: async () => {
        const [items, given] = await Promise.all([replicaRows(client, namespace, realClock.now()), handedOver(client)]);
        return { items, handedOver: given };
      },
      text: rowLines,
      // Each renewal changes the time of a Lease, so the comparison ignores the time.
      watched: ({ items, handedOver: given }) => [items.map(({ renewedMs: _, ...row }) => row), given],
    }),
  );

export const clusters = (flags: ClustersFlags, telling: Following): Promise<void> =>
  inCluster(flags, 'fleet', ({ client, namespace }) =>
    reportOrFollow(telling, flags, {
      read: async () => ({
        items: await clusterRows(client, { namespace, selector: flags.selector, now: realClock.now() }),
      }),
      text: ({ items }) => clusterLines(items, flags.selector),
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

const clusterLines = (items: readonly ClusterRow[], selector: string): string[] =>
  items.length === 0
    ? [`No namespace has the labels ${selector}`]
    : columns([
        ['CLUSTER', 'MANAGER', 'CONTROLLER', 'RUNNING', 'PROBLEM'],
        ...items.map(({ cluster, manager, controller, machines, running, problem }) => [
          cluster,
          manager,
          controller,
          `${running}/${machines}`,
          problem || '-',
        ]),
      ]);

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
