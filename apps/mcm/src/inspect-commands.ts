import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type EventObject, errorText, events, type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import type { Command } from 'commander';
import { ifAllowed, readNodes, unreadLines } from './allowed.ts';
import type { Cluster, ClusterFlags } from './cluster.ts';
import { inCluster, reference, withCluster, withOutput } from './cluster-options.ts';
import { completionScript, SHELLS } from './completion/completion.ts';
import { kubectlScript } from './completion/kubectl.ts';
import { type BundleFile, collectBundle } from './debug/bundle.ts';
import { readDeployment } from './deployment-reading.ts';
import { UserError } from './errors.ts';
import { type EventScope, eventLines, eventRows } from './events/events.ts';
import { scopeOfDeployment, scopeOfObject } from './events/scope.ts';
import { getNamed } from './missing.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { fleetTree, type TreeSource, treeLines } from './tree/tree.ts';
import { version } from './version.ts';

type Say = (line: string) => void;

/** Who completes: a shell, or kubectl its plugin. */
const ASKING = [...SHELLS, 'kubectl'] as const;

type InspectFlags = ClusterFlags & { readonly output: OutputFormat };

/** Adds `tree`, `events`, `debug bundle` and `completion`: commands that only read. */
export function addInspectCommands(program: Command, say: Say, draw: (text: string) => string): void {
  const told = <T>(
    format: OutputFormat,
    model: T,
    unread: ReadonlySet<string>,
    text: (model: T, wide: boolean) => readonly string[],
  ): void => {
    const gaps = unreadLines([...unread]);
    const isModel = format === 'json' || format === 'yaml';
    for (const line of formatted(format, model, (all, wide) => [...text(all, wide).map(draw), ...gaps])) say(line);
    // What a program reads has no room for it; whoever started the program is told all the same.
    if (isModel) for (const line of gaps) program.configureOutput().writeErr?.(`${line}\n`);
  };

  withOutput(
    withCluster(
      program
        .command('tree')
        .description('show deployments with their sets, machines, VMs and nodes, and what is wrong with each')
        .argument('[deployment]', 'only this one'),
    ),
  ).action((text: string | undefined, flags: InspectFlags) =>
    inCluster(flags, 'tree', async (cluster) => {
      const unread = new Set<string>();
      const branches = fleetTree(await readTree(cluster, text, unread));
      const now = realClock.now();
      told(flags.output, branches, unread, (all, wide) => treeLines(all, wide, now));
    }),
  );

  withOutput(
    withCluster(
      program
        .command('events')
        .description('list what was told of machines and what owns them, oldest first')
        .argument('[object]', 'only of this: KIND/NAME, or the name of a machinedeployment'),
    ),
  ).action((text: string | undefined, flags: InspectFlags) =>
    inCluster(flags, 'events', async (cluster) => {
      const scope = text === undefined ? undefined : await scopeOf(cluster, text);
      const unread = new Set<string>();
      const rows = eventRows(await readEvents(cluster, unread), scope);
      // One that is gone has events for an hour; one without any may never have been there.
      if (text !== undefined && rows.length === 0) await checkThere(cluster, text);
      const now = realClock.now();
      told(flags.output, rows, unread, (all, wide) => eventLines(all, now, wide));
    }),
  );

  withOutput(
    withCluster(
      program
        .command('debug')
        .description('help somebody else to help you')
        .command('bundle')
        .description('write what tells why machines are where they are into a new folder, without secrets')
        .argument('[folder]', 'a folder that is not there yet (default: mcm-bundle-TIME)'),
    ),
  ).action((folder: string | undefined, flags: InspectFlags) =>
    inCluster(flags, 'debug', async (cluster) => {
      const now = realClock.now();
      const into = folder ?? `mcm-bundle-${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
      const files = await collectBundle(cluster, version(), now);
      await writeBundle(into, files);
      const model = { folder: into, files: files.map(({ name }) => name) };
      const gaps = model.files.includes('errors.txt') ? ', not everything could be read: see errors.txt in it' : '';
      const text = `${files.length} files in ${into}${gaps}; look through them before you send them: tar czf ${into}.tgz ${into}`;
      for (const line of formatted(flags.output, model, () => [text])) say(line);
    }),
  );

  program
    .command('completion')
    .description('print a script that completes commands and flags in a shell')
    .addArgument(program.createArgument('<shell>', ASKING.join(', ')).choices(ASKING))
    .action((shell: (typeof ASKING)[number]) => {
      const script = shell === 'kubectl' ? kubectlScript(program.name()) : completionScript(program, shell);
      say(script.trimEnd());
    });
}

async function readTree(
  { client, target, namespace }: Cluster,
  text: string | undefined,
  unread: Set<string>,
): Promise<TreeSource> {
  const all = await readNodes(target, unread);
  if (text !== undefined) {
    const { deployment, sets, machines: bySet } = await readDeployment(client, namespace, reference(text).name);
    const owned = [...bySet.values()].flat();
    const names = new Set(owned.map(({ metadata }) => metadata.labels?.node));
    const ours = all?.filter(({ metadata }) => names.has(metadata.name));
    return { deployments: [deployment], sets, machines: owned, nodes: ours };
  }
  const [deployments, sets, fleet] = await Promise.all([
    client.resource<MachineDeployment>(machineDeployments, namespace).list(),
    client.resource<MachineSet>(machineSets, namespace).list(),
    client.resource<Machine>(machines, namespace).list(),
  ]);
  return { deployments: deployments.items, sets: sets.items, machines: fleet.items, nodes: all };
}

async function readEvents(
  { client, target, namespace }: Cluster,
  unread: Set<string>,
): Promise<readonly EventObject[]> {
  const own = await client.resource<EventObject>(events, namespace).list();
  // Events of Nodes, which have no namespace, are in this one.
  if (namespace === 'default' && client === target) return own.items;
  const ofNodes = target.resource<EventObject>(events, 'default').list({ fieldSelector: 'involvedObject.kind=Node' });
  return [...own.items, ...((await ifAllowed(ofNodes, unread))?.items ?? [])];
}

const NAMED: Readonly<Record<string, ResourceDefinition<KubeObject>>> = {
  MachineSet: machineSets,
  Machine: machines,
  MachineClass: machineClasses,
};

/** Throws `UserError` for an object that is not there. */
async function checkThere({ client, namespace }: Cluster, text: string): Promise<void> {
  const { kind = '', name } = reference(text);
  const definition = NAMED[kind];
  if (definition) await getNamed(client, definition, namespace, name);
}

async function scopeOf({ client, namespace }: Cluster, text: string): Promise<EventScope> {
  const { kind = 'MachineDeployment', name } = reference(text);
  if (kind !== 'MachineDeployment') return scopeOfObject(kind, name);
  return scopeOfDeployment(await readDeployment(client, namespace, name));
}

async function writeBundle(folder: string, files: readonly BundleFile[]): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const there = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new UserError(
      there ? `${folder} is there already; name another folder` : `${folder} cannot be made: ${errorText(error)}`,
    );
  }
  // Others on this machine have no business in it.
  for (const { name, text } of files) await writeFile(join(folder, name), text, { mode: 0o600 });
}
