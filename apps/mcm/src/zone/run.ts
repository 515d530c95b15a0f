import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { columns } from '../output/columns.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { evacuate, returnZone, type ZoneChange, type ZoneRow, type ZoneTarget, zoneRows } from './actions.ts';

export type ZoneFlags = ClusterFlags & { readonly output: OutputFormat; readonly deployment?: string };

const CHANGES = { evacuate, return: returnZone } as const satisfies Readonly<
  Record<string, (target: ZoneTarget, zone: string) => Promise<readonly ZoneChange[]>>
>;
export type ZoneAction = keyof typeof CHANGES;

export const changeZone = (
  action: ZoneAction,
  zone: string,
  flags: ZoneFlags,
  { say }: Pick<CommandEnvironment, 'say'>,
): Promise<void> =>
  inCluster(flags, 'zone', async ({ client, namespace }) => {
    const changes = await CHANGES[action]({ client, namespace, deployment: flags.deployment }, zone);
    for (const line of formatted(flags.output, { items: changes }, ({ items }) => items.map(lineOf))) say(line);
    if (changes.some(({ problem }) => problem !== undefined)) process.exitCode = 1;
  });

const lineOf = ({ deployment, zone, action, problem }: ZoneChange): string =>
  `machinedeployment ${deployment}: zone ${zone} ${action}${problem === undefined ? '' : `: ${problem}`}`;

export const listZones = (flags: ZoneFlags, { say }: Pick<CommandEnvironment, 'say'>): Promise<void> =>
  inCluster(flags, 'zone', async ({ client, namespace, target }) => {
    const items = await zoneRows({ client, namespace, target, deployment: flags.deployment });
    for (const line of formatted(flags.output, { items }, zoneLines)) say(line);
  });

const zoneLines = ({ items }: { readonly items: readonly ZoneRow[] }): string[] =>
  items.length === 0
    ? ['No MachineDeployment has zones']
    : columns([
        ['DEPLOYMENT', 'ZONE', 'MACHINES', 'AVAILABLE', 'STATE'],
        ...items.map(({ deployment, zone, machines, available, state }) => [
          deployment,
          zone,
          String(machines),
          String(available),
          state,
        ]),
      ]);
