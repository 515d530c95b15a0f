import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { parseZones, zoneOutlook, zoneSettingOf } from '@mcm/core';
import { isConflict, type KubeClient } from '@mcm/kube';
import { readNodes } from '../cluster/allowed.ts';
import { ownedBy, readNamespace } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';

export interface ZoneTarget {
  readonly client: KubeClient;
  readonly namespace: string | undefined;
  /** The client of the target cluster. If the target cluster is unknown, `target` is undefined. */
  readonly target?: KubeClient | undefined;
  /**
   * The name of the deployment to change. If `deployment` is undefined, all deployments that use the zone are changed.
   */
  readonly deployment?: string | undefined;
  readonly selector?: string | undefined;
}

export interface ZoneChange {
  readonly namespace: string;
  readonly deployment: string;
  readonly zone: string;
  readonly action: 'evacuated' | 'returned' | 'unchanged';
  readonly problem?: string;
}

export interface ZoneRow {
  readonly namespace: string;
  readonly deployment: string;
  readonly zone: string;
  readonly machines: number;
  readonly available: number;
  readonly state: 'open' | 'evacuated' | 'standby' | 'short';
}

const TRIES = 20;

const placeOf = ({ namespace }: ZoneTarget): string =>
  namespace === undefined ? 'the cluster' : `namespace ${namespace}`;

async function listed(target: ZoneTarget): Promise<readonly MachineDeployment[]> {
  const { client, namespace, deployment, selector: labelSelector } = target;
  const { items } = await client
    .resource<MachineDeployment>(machineDeployments, namespace)
    .list(labelSelector === undefined ? {} : { labelSelector });
  const wanted = deployment === undefined ? items : items.filter(({ metadata }) => metadata.name === deployment);
  if (deployment !== undefined && wanted.length === 0)
    throw new UserError(`machinedeployment ${deployment} does not exist in ${placeOf(target)}`);
  return wanted;
}

type Change = (evacuated: ReadonlySet<string>, zones: readonly string[]) => readonly string[];

/**
 * Changes every deployment that uses the zone. If a deployment cannot be changed, the others are still changed, because
 * the zone may be failing.
 */
async function change(
  target: ZoneTarget,
  zone: string,
  action: 'evacuated' | 'returned',
  next: Change,
): Promise<readonly ZoneChange[]> {
  const changes: ZoneChange[] = [];
  const known = new Set<string>();
  for (const deployment of await listed(target)) {
    const { name, namespace = '' } = deployment.metadata;
    const row = { namespace, deployment: name, zone };
    const { setting, problems } = parseZones(deployment);
    const [problem] = problems;
    if (problem) changes.push({ ...row, action: 'unchanged', problem: `${problem.field}: ${problem.message}` });
    for (const each of setting?.zones ?? []) known.add(each.name);
    if (!setting?.zones.some((each) => each.name === zone)) continue;
    changes.push({ ...row, ...(await write(target.client, { namespace, name }, action, next)) });
  }
  if (known.has(zone) || changes.length > 0) return changes;
  const hint =
    known.size > 0
      ? `the zones are ${[...known].join(', ')}`
      : `no MachineDeployment has the annotation ${Annotations.Zones}`;
  throw new UserError(`no MachineDeployment of ${placeOf(target)} has the zone ${zone}; ${hint}`);
}

/**
 * The write contains the resource version that mcm has read. If another client changes the object first, mcm reads and
 * writes again.
 */
async function write(
  client: KubeClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  action: 'evacuated' | 'returned',
  next: Change,
): Promise<Pick<ZoneChange, 'action' | 'problem'>> {
  const resource = client.resource<MachineDeployment>(machineDeployments, namespace);
  for (let tries = 1; ; tries++) {
    const deployment = await resource.get(name);
    const setting = zoneSettingOf(deployment);
    const names = setting?.zones.map((zone) => zone.name) ?? [];
    const wanted = next(setting?.evacuated ?? new Set(), names);
    if (wanted.length > 0 && wanted.length === names.length)
      return { action: 'unchanged', problem: 'no zone would remain; return another zone first, or add a zone' };
    if (wanted.length === (setting?.evacuated.size ?? 0)) return { action: 'unchanged' };
    const { uid, resourceVersion } = deployment.metadata;
    const annotations = { [Annotations.ZonesEvacuated]: wanted.join(',') || null };
    try {
      await resource.patch(name, { type: 'merge', body: { metadata: { uid, resourceVersion, annotations } } });
      return { action };
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

/**
 * Evacuates a zone: mcm replaces the machines of the zone in other zones, and creates no new machines in the zone.
 * @throws UserError if no deployment uses the zone
 */
export const evacuate = (target: ZoneTarget, zone: string): Promise<readonly ZoneChange[]> =>
  change(target, zone, 'evacuated', (evacuated, zones) => zones.filter((name) => name === zone || evacuated.has(name)));

/**
 * Ends the evacuation of a zone. The zone gets new machines until all zones have almost equal numbers of machines.
 * @throws UserError if no deployment uses the zone
 */
export const returnZone = (target: ZoneTarget, zone: string): Promise<readonly ZoneChange[]> =>
  change(target, zone, 'returned', (evacuated, zones) => zones.filter((name) => name !== zone && evacuated.has(name)));

export async function zoneRows(target: ZoneTarget): Promise<readonly ZoneRow[]> {
  const deployments = await listed(target);
  const reading = await readNamespace(target.client, target.namespace);
  // A machine that is older than the list of zones has no recorded zone, so mcm uses the zone of its Node.
  const nodes = target.target && (await readNodes(target.target));
  const byName = new Map(nodes?.map((node) => [node.metadata.name, node]));
  return deployments.flatMap((deployment) => {
    const { sets, machines } = ownedBy(deployment, reading);
    const outlook = zoneOutlook({
      deployment,
      sets,
      machines: [...machines.values()].flat(),
      nodeOf: (name) => byName.get(name),
    });
    return (outlook?.zones ?? []).map(({ name, machines: count, available, state }) => ({
      namespace: deployment.metadata.namespace ?? '',
      deployment: deployment.metadata.name,
      zone: name,
      machines: count,
      available,
      state,
    }));
  });
}
