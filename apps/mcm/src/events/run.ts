import { machineClasses, machineSets, machines } from '@mcm/api';
import { type EventObject, events, type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { ifAllowed } from '../cluster/allowed.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, reference } from '../cluster/cluster-options.ts';
import { readDeployment } from '../cluster/deployment-reading.ts';
import { getNamed } from '../cluster/missing.ts';
import { type Telling, tell } from '../cluster/told.ts';
import { type EventScope, eventLines, eventRows } from './events.ts';
import { scopeOfDeployment, scopeOfObject } from './scope.ts';

/** `mcm events`. */
export const tellEvents = (object: string | undefined, flags: AskFlags, telling: Telling): Promise<void> =>
  inCluster(flags, 'events', async (cluster) => {
    const scope = object === undefined ? undefined : await scopeOf(cluster, object);
    const unread = new Set<string>();
    const model = eventRows(await readEvents(cluster, unread), scope);
    // A deleted object has events for an hour. Without events, check that the object exists.
    if (object !== undefined && model.length === 0) await checkThere(cluster, object);
    const now = realClock.now();
    tell(telling, flags.output, { model, unread }, (all, wide) => eventLines(all, now, wide));
  });

async function readEvents(
  { client, target, namespace }: Cluster,
  unread: Set<string>,
): Promise<readonly EventObject[]> {
  const own = await client.resource<EventObject>(events, namespace).list();
  // Events of Nodes are in the namespace `default`. Here it is already read.
  if (namespace === 'default' && client === target) return own.items;
  const ofNodes = target.resource<EventObject>(events, 'default').list({ fieldSelector: 'involvedObject.kind=Node' });
  return [...own.items, ...((await ifAllowed(ofNodes, unread))?.items ?? [])];
}

const NAMED: Readonly<Record<string, ResourceDefinition<KubeObject>>> = {
  MachineSet: machineSets,
  Machine: machines,
  MachineClass: machineClasses,
};

/** Throws `UserError` if the object does not exist. */
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
