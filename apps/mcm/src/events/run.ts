import {
  Labels,
  type Machine,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type EventObject, events, isGone, type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { ifAllowed } from '../cluster/allowed.ts';
import { type Telling, tell } from '../cluster/answers.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, reference } from '../cluster/cluster-options.ts';
import { readDeployment } from '../cluster/deployment-reading.ts';
import { getNamed } from '../cluster/missing.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { growingColumns } from '../output/columns.ts';
import { eachFormatted } from '../output/format.ts';
import { eventLines, eventRows, objectOf } from './events.ts';
import { LiveScope, type ObjectScope, readSelected, scopeOfDeployments, scopeOfObject } from './scope.ts';

export type EventsFlags = AskFlags & {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly watch?: true;
};

export const reportEvents = (
  object: string | undefined,
  flags: EventsFlags,
  telling: Telling & Pick<CommandEnvironment, 'signal'>,
): Promise<void> =>
  inCluster(flags, 'events', async (cluster) => {
    const { allNamespaces = false } = flags;
    const scope = await scopeOf(cluster, object, flags, telling.warn);
    const unread = new Set<string>();
    const { items, resourceVersion } = await readEvents(cluster, unread, allNamespaces);
    const model = eventRows(items, scope, { allNamespaces });
    // The object is read only if no event was found. If an event was found, the object may no longer exist, because
    // events exist for another hour.
    const since = object !== undefined && model.length === 0 ? await createdAt(cluster, object) : undefined;
    const now = realClock.now();
    const align = growingColumns();
    tell(telling, flags.output, { model, unread }, (all, wide) => eventLines(all, now, { wide, since, align }));
    if (!flags.watch) return;
    const signal = telling.signal();
    const again = async () => (await scopeOf(cluster, object, flags, () => undefined)) ?? NOTHING;
    const live = scope && new LiveScope(scope, again);
    const show = async (event: EventObject): Promise<void> => {
      if (live && !(await live.includes(objectOf(event)))) return;
      const rows = eventRows([event], undefined, { allNamespaces });
      for (const row of rows) {
        const text = eventLines([row], realClock.now(), { wide: flags.output === 'wide', align }).at(-1) ?? '';
        for (const line of eachFormatted(flags.output, row, text)) telling.say(telling.draw(line));
      }
    };
    await followEvents(cluster, { allNamespaces, resourceVersion, signal }, show);
  });

/** Watches the events of the namespace. If the resource version has expired, the watch continues with new events. */
async function followEvents(
  { client, namespace }: Cluster,
  from: { readonly allNamespaces: boolean; readonly resourceVersion: string; readonly signal: AbortSignal },
  show: (event: EventObject) => Promise<void>,
): Promise<void> {
  const resource = client.resource<EventObject>(events, from.allNamespaces ? undefined : namespace);
  let { resourceVersion } = from;
  while (!from.signal.aborted) {
    try {
      for await (const event of resource.watch({ resourceVersion, signal: from.signal })) {
        ({ resourceVersion } = event.object.metadata);
        if (event.type === 'ADDED' || event.type === 'MODIFIED') await show(event.object);
      }
    } catch (error) {
      if (!isGone(error)) throw error;
      const { metadata } = await resource.list({ limit: 1, signal: from.signal });
      resourceVersion = metadata.resourceVersion;
    }
  }
  from.signal.throwIfAborted();
}

/**
 * Returns the events of Nodes that belong to the namespace. The name of a Node usually starts with the name of the set,
 * also after the deletion of its machine.
 */
async function ofOwnNodes(
  nodeEvents: readonly EventObject[],
  { client, namespace }: Pick<Cluster, 'client' | 'namespace'>,
  unread: Set<string>,
): Promise<readonly EventObject[]> {
  if (nodeEvents.length === 0) return [];
  const [sets, fleet] = await Promise.all([
    ifAllowed(client.resource<MachineSet>(machineSets, namespace).list(), unread),
    ifAllowed(client.resource<Machine>(machines, namespace).list(), unread),
  ]);
  if (!sets || !fleet) return nodeEvents;
  const names = new Set(fleet.items.flatMap(({ metadata: { name, labels } }) => [name, labels?.[Labels.Node] ?? name]));
  const prefixes = sets.items.map(({ metadata }) => `${metadata.name}-`);
  return nodeEvents.filter(
    ({ involvedObject: { name = '' } }) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)),
  );
}

/** Reads the events of a namespace, and the events of the Nodes of its machines. */
export async function readEvents(
  { client, target, namespace }: Pick<Cluster, 'client' | 'target' | 'namespace'>,
  unread: Set<string>,
  allNamespaces: boolean,
): Promise<{ readonly items: readonly EventObject[]; readonly resourceVersion: string }> {
  const own = await client.resource<EventObject>(events, allNamespaces ? undefined : namespace).list();
  const { resourceVersion } = own.metadata;
  // Events of Nodes are in the namespace `default`. If the first list contains this namespace, a second list is not
  // necessary.
  if ((allNamespaces || namespace === 'default') && client === target) return { items: own.items, resourceVersion };
  const ofNodes = target.resource<EventObject>(events, 'default').list({ fieldSelector: 'involvedObject.kind=Node' });
  const nodeEvents = (await ifAllowed(ofNodes, unread))?.items ?? [];
  const shown = allNamespaces ? nodeEvents : await ofOwnNodes(nodeEvents, { client, namespace }, unread);
  return { items: [...own.items, ...shown], resourceVersion };
}

const NAMED: Readonly<Record<string, ResourceDefinition<KubeObject>>> = {
  MachineDeployment: machineDeployments,
  MachineSet: machineSets,
  Machine: machines,
  MachineClass: machineClasses,
};

/**
 * Returns the creation time of an object.
 * @throws UserError if the object does not exist
 */
async function createdAt({ client, namespace }: Cluster, text: string): Promise<string | undefined> {
  const { kind = 'MachineDeployment', name } = reference(text);
  const definition = NAMED[kind];
  if (!definition) return undefined;
  return (await getNamed(client, definition, namespace, name)).metadata.creationTimestamp;
}

const NOTHING: ObjectScope = { objects: new Set(), machinePrefixes: [] };

/** Returns the scope that the flags select. */
async function scopeOf(
  cluster: Pick<Cluster, 'client' | 'namespace'>,
  text: string | undefined,
  flags: EventsFlags,
  warn: (line: string) => void,
): Promise<ObjectScope | undefined> {
  if (text === undefined) return readSelected(cluster, flags, warn);
  const { client, namespace } = cluster;
  const { kind = 'MachineDeployment', name } = reference(text);
  if (kind !== 'MachineDeployment') return scopeOfObject(kind, name, namespace);
  return scopeOfDeployments([await readDeployment(client, namespace, name)]);
}
