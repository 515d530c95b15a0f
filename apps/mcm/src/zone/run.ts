import { type Cluster, type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import { type Following, reportOrFollow } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { columns } from '../output/columns.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { evacuate, returnZone, type ZoneChange, type ZoneRow, type ZoneTarget, zoneRows } from './actions.ts';

export type ZoneFlags = ClusterFlags & {
  readonly output: OutputFormat;
  readonly deployment?: string;
  readonly allNamespaces?: true;
  readonly selector?: string;
};
export type ZoneListFlags = ZoneFlags & { readonly watch?: true };

const CHANGES = { evacuate, return: returnZone } as const satisfies Readonly<
  Record<string, (target: ZoneTarget, zone: string) => Promise<readonly ZoneChange[]>>
>;
export type ZoneAction = keyof typeof CHANGES;

const inTarget = (flags: ZoneFlags, work: (target: ZoneTarget) => Promise<void>): Promise<void> => {
  const { deployment, allNamespaces, selector } = flags;
  if (deployment !== undefined && (allNamespaces || selector !== undefined))
    throw new UserError('--deployment cannot be used together with --all-namespaces or --selector');
  return inCluster(flags, 'zone', ({ client, namespace, target }: Cluster) =>
    work({ client, namespace: allNamespaces ? undefined : namespace, target, deployment, selector }),
  );
};

export const changeZone = (
  action: ZoneAction,
  zone: string,
  flags: ZoneFlags,
  { say }: Pick<CommandEnvironment, 'say'>,
): Promise<void> =>
  inTarget(flags, async (target) => {
    const changes = await CHANGES[action](target, zone);
    const lines = ({ items }: { readonly items: readonly ZoneChange[] }): string[] =>
      items.map((change) => lineOf(change, flags.allNamespaces === true));
    for (const line of formatted(flags.output, { items: changes }, lines)) say(line);
    if (changes.some(({ problem }) => problem !== undefined)) process.exitCode = 1;
  });

function lineOf({ namespace, deployment, zone, action, problem }: ZoneChange, isOfAll: boolean): string {
  const name = isOfAll ? `${namespace}/${deployment}` : deployment;
  return `machinedeployment ${name}: zone ${zone} ${action}${problem === undefined ? '' : `: ${problem}`}`;
}

export const listZones = (flags: ZoneListFlags, telling: Following): Promise<void> =>
  inTarget(flags, (target) =>
    reportOrFollow(telling, flags, {
      read: async () => ({ items: await zoneRows(target) }),
      text: (model) => zoneLines(model, flags.allNamespaces === true),
    }),
  );

function zoneLines({ items }: { readonly items: readonly ZoneRow[] }, isOfAll: boolean): string[] {
  if (items.length === 0) return ['No MachineDeployment has zones'];
  const rows = items.map(({ namespace, deployment, zone, machines, available, state }) => [
    ...(isOfAll ? [namespace] : []),
    ...[deployment, zone, String(machines), String(available), state],
  ]);
  return columns([
    [...(isOfAll ? ['NAMESPACE'] : []), 'DEPLOYMENT', 'ZONE', 'MACHINES', 'AVAILABLE', 'STATE'],
    ...rows,
  ]);
}
