import type { OperationFault } from '../faults/faults.ts';
import type { CloudInstance, CloudInterface, CloudVolume, ScriptRule } from './model.ts';
import { Ec2Error, entriesOf, listOf, type Params } from './params.ts';
import type { Ec2State } from './state.ts';
import { type Element, elements, items } from './xml.ts';

export const STATES: Readonly<Record<string, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export function describeImages({ options }: Ec2State, params: Params, rule?: ScriptRule): readonly Element[] {
  const asked = listOf(params, 'ImageId');
  const known = options.images ?? asked.map((imageId) => ({ imageId, rootDeviceName: '/dev/xvda' }));
  const found = rule?.empty ? [] : known.filter(({ imageId }) => asked.includes(imageId));
  const one = ({ imageId, rootDeviceName }: (typeof known)[number]) => elements({ imageId, rootDeviceName });
  return [['imagesSet', items(found, one)]];
}

const networkInterface = (each: CloudInterface): readonly Element[] =>
  elements({
    networkInterfaceId: each.networkInterfaceId,
    subnetId: each.subnetId,
    privateIpAddress: each.privateIp,
    groupSet: each.groups && items(each.groups, (groupId) => elements({ groupId })),
    sourceDestCheck: each.sourceDestCheck,
    interfaceType: each.interfaceType,
    ipv6PrefixSet: each.ipv6Prefixes && items(each.ipv6Prefixes, (ipv6Prefix) => elements({ ipv6Prefix })),
    attachment: each.noAttachment
      ? undefined
      : elements({
          status: 'attached',
          deviceIndex: each.deviceIndex,
          networkCardIndex: each.networkCardIndex,
        }),
  });

export const instanceElement = (
  each: CloudInstance,
  volumes: readonly CloudVolume[],
  state = each.state,
): readonly Element[] =>
  elements({
    instanceId: each.instanceId,
    instanceState: state && elements({ code: STATES[state] ?? 0, name: state }),
    imageId: each.image,
    privateDnsName: each.privateDnsName,
    instanceType: each.machineType,
    launchTime: each.launchTime,
    placement: each.zone && elements({ availabilityZone: each.zone, groupName: '', tenancy: 'default' }),
    privateIpAddress: each.privateIp,
    subnetId: each.networkInterfaces?.[0]?.subnetId,
    clientToken: each.clientToken,
    stateReason: each.stateReason && elements({ code: each.stateReason.code, message: each.stateReason.message }),
    sourceDestCheck: each.sourceDestCheck,
    hibernationOptions: each.hibernation === true ? elements({ configured: true }) : undefined,
    blockDeviceMapping: items(volumes, ({ deviceName, volumeId, deleteOnTermination }) =>
      elements({ deviceName, ebs: elements({ status: 'attached', deleteOnTermination, volumeId }) }),
    ),
    networkInterfaceSet: items(each.networkInterfaces ?? [], networkInterface),
    tagSet: items(Object.entries(each.tags ?? {}), ([key, value]) => elements({ key, value })),
  });

export function consoleOutput(cloud: Ec2State, { InstanceId: id = '' }: Params): readonly Element[] {
  const found = cloud.instances.find(({ instanceId }) => instanceId === id);
  if (!found) throw unknownId(id);
  return elements({
    instanceId: id,
    timestamp: new Date(cloud.now).toISOString(),
    output: Buffer.from(cloud.power.console?.(id) ?? '').toString('base64'),
  });
}

export function describeInstances(cloud: Ec2State, params: Params, rule?: ScriptRule): readonly Element[] {
  const ids = listOf(params, 'InstanceId');
  if (ids.length > 0 && params.MaxResults !== undefined)
    throw new Ec2Error(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  if (rule?.notVisible && ids.length > 0) throw unknownId(ids[0] ?? '');
  const there = cloud.instances.filter(({ visibleFrom = 0 }) => visibleFrom <= cloud.now);
  for (const each of there) settle(cloud, each);
  for (const id of rule?.empty ? [] : ids) if (!there.some(({ instanceId }) => instanceId === id)) throw unknownId(id);
  const filters = entriesOf(params, 'Filter').map((filter) => ({
    name: filter.Name ?? '',
    values: listOf(filter, 'Value'),
  }));
  const hits =
    rule?.empty || rule?.notVisible
      ? []
      : there.filter(
          (each) =>
            (ids.length === 0 || ids.includes(each.instanceId ?? '')) &&
            filters.every((filter) => matches(reportedOf(cloud, each), filter)),
        );
  return page(cloud, hits, params);
}

/** For some time after a change, read requests return the instance as it was before the change. */
const reportedOf = ({ now }: Ec2State, each: CloudInstance): CloudInstance =>
  each.stale && each.stale.until > now ? each.stale.was : each;

/** Stores a copy of an instance before a change. */
export function readsLag(cloud: Ec2State, each: CloudInstance, { visibleAfterMs }: OperationFault): void {
  if (visibleAfterMs === undefined) return;
  settle(cloud, each);
  const { stale: _, ...was } = structuredClone(each);
  each.stale = { until: cloud.now + visibleAfterMs, was };
}

const tokenOf = (ordinal: number): string => `token-${ordinal}`;

function afterOf(token: string): number {
  const [, ordinal] = /^token-(\d+)$/.exec(token) ?? [];
  if (ordinal === undefined) throw new Ec2Error('InvalidNextToken', 'The token is invalid or has expired.');
  return Number(ordinal);
}

/**
 * Returns one page of instances. The next page starts after the last instance of this page, even if instances were
 * added or deleted between the requests.
 */
function page(cloud: Ec2State, hits: readonly CloudInstance[], params: Params): readonly Element[] {
  const { options } = cloud;
  const { NextToken: token, MaxResults: most = Number.POSITIVE_INFINITY } = params;
  const size = Math.min(options.pageSize ?? Number.POSITIVE_INFINITY, Number(most));
  const after = token === undefined ? 0 : afterOf(token);
  const left = hits.filter((each) => cloud.ordinalOf(each) > after);
  const some = left.slice(0, size);
  const last = some.at(-1);
  const next = last && some.length < left.length ? tokenOf(cloud.ordinalOf(last)) : undefined;
  const reservations = Map.groupBy(some, ({ reservation, instanceId }) => reservation ?? `r-of-${instanceId}`);
  const one = ([reservationId, instances]: [string, readonly CloudInstance[]]) =>
    elements({
      reservationId,
      ownerId: OWNER,
      instancesSet: items(instances, (each) => instanceElement(reportedOf(cloud, each), volumesOf(cloud, each))),
    });
  return elements({
    reservationSet: items([...reservations], one),
    nextToken: options.repeatToken ? (token ?? tokenOf(size)) : next,
  });
}

function matches(each: CloudInstance, { name, values }: { name: string; values: readonly string[] }): boolean {
  const tags = each.tags ?? {};
  if (name.startsWith('tag:')) return values.some((value) => matchesText(value, tags[name.slice(4)]));
  if (name === 'tag-key') return values.some((value) => Object.hasOwn(tags, value));
  if (name === 'instance-id') return values.includes(each.instanceId ?? '');
  if (name === 'instance-state-name') return values.includes(each.state ?? '');
  throw new Ec2Error('InvalidParameterValue', `The filter '${name}' is invalid`);
}

/** Compares a text with a filter value of EC2. In the value, `*` matches any text, and `?` matches one character. */
const matchesText = (pattern: string, text: string | undefined): boolean =>
  text !== undefined &&
  new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  ).test(text);

export const OWNER = '111122223333';

export const volumesOf = ({ volumes }: Ec2State, { instanceId: of }: CloudInstance): readonly CloudVolume[] =>
  volumes.values().filter(({ instanceId }) => of !== undefined && instanceId === of);

/** Applies all changes of an instance that are due at the current time. */
export function settle(cloud: Ec2State, each: CloudInstance): void {
  const { bootMs = cloud.options.bootMs ?? 0, bootFails } = each;
  if (each.state === 'pending' && Date.parse(each.launchTime ?? '') + bootMs <= cloud.now) {
    if (bootFails) endAtBoot(cloud, each, bootFails);
    else each.state = 'running';
  }
  if (each.state === 'shutting-down' && (each.terminatedFrom ?? Number.POSITIVE_INFINITY) <= cloud.now)
    each.state = 'terminated';
  if (each.state === 'stopping' && (each.stoppedFrom ?? 0) <= cloud.now) each.state = 'stopped';
}

/**
 * Terminates an instance that EC2 accepted but could not boot. The field `stateReason` of the instance contains the
 * error.
 */
function endAtBoot(
  cloud: Ec2State,
  each: CloudInstance,
  { code, message, leave }: NonNullable<CloudInstance['bootFails']>,
): void {
  each.state = 'terminated';
  each.stateReason = { code, message };
  each.terminatedFrom = cloud.now;
  release(cloud, each, leave);
}

/**
 * Deletes the volumes and interfaces of a terminated instance, or detaches them if they must stay.
 * @param all Whether all volumes stay
 */
function release(cloud: Ec2State, each: CloudInstance, all = false): void {
  each.userData = '';
  cloud.power.off(each.instanceId ?? '');
  releaseVolumes(cloud, each, all);
  releaseInterfaces(cloud, each);
  cloud.keep(each);
}

const unknownId = (id: string): Ec2Error =>
  new Ec2Error('InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`);

export function instanceWithId(cloud: Ec2State, id: string): CloudInstance {
  const each = cloud.instances.find(({ instanceId }) => (instanceId ?? '') === id);
  if (!each || (each.visibleFrom ?? 0) > cloud.now) throw unknownId(id);
  return each;
}

export function terminate(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  const ids = listOf(params, 'InstanceId');
  const found = ids.map((id) => instanceWithId(cloud, id));
  const changed = found.map((each) => {
    readsLag(cloud, each, fault);
    const before = each.state;
    if (before !== 'terminated') each.state = 'shutting-down';
    if (each.terminatedFrom === undefined) {
      const shutdownMs = fault.operationMs ?? cloud.options.shutdownMs;
      if (shutdownMs !== undefined) each.terminatedFrom = cloud.now + shutdownMs;
      each.stateReason = { code: 'Client.UserInitiatedShutdown', message: 'Client.UserInitiatedShutdown' };
      release(cloud, each);
    }
    return { each, before };
  });
  const state = (name: string | null | undefined) => name && elements({ code: STATES[name] ?? 0, name });
  const one = ({ each, before }: (typeof changed)[number]) =>
    elements({ instanceId: each.instanceId, currentState: state(each.state), previousState: state(before) });
  return [['instancesSet', items(changed, one)]];
}

function releaseVolumes({ volumes }: Ec2State, { instanceId }: CloudInstance, all: boolean): void {
  for (const { instanceId: of, ...volume } of volumes.values()) {
    if (of !== instanceId) continue;
    if (volume.deleteOnTermination && !all) volumes.delete(volume.volumeId);
    else volumes.put(volume.volumeId, volume);
  }
}

function releaseInterfaces({ looseInterfaces }: Ec2State, { networkInterfaces = [], tags }: CloudInstance): void {
  for (const { networkInterfaceId, deleteOnTermination = true } of networkInterfaces)
    if (networkInterfaceId && !deleteOnTermination)
      looseInterfaces.put(networkInterfaceId, { networkInterfaceId, name: tags?.Name ?? '' });
}

function interfaceOf(cloud: Ec2State, id = ''): { instance: CloudInstance; each: CloudInterface } {
  for (const instance of cloud.instances)
    for (const each of instance.networkInterfaces ?? []) if (each.networkInterfaceId === id) return { instance, each };
  throw new Ec2Error('InvalidNetworkInterfaceID.NotFound', `The networkInterface ID '${id}' does not exist`);
}

export function modifyInterface(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  const { instance, each } = interfaceOf(cloud, params.NetworkInterfaceId);
  readsLag(cloud, instance, fault);
  each.sourceDestCheck = params['SourceDestCheck.Value'] !== 'false';
  if (each.deviceIndex === 0) instance.sourceDestCheck = each.sourceDestCheck;
  cloud.keep(instance);
  return [['return', true]];
}

export function assignPrefixes(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  const { instance, each } = interfaceOf(cloud, params.NetworkInterfaceId);
  readsLag(cloud, instance, fault);
  const count = Math.max(Number(params.Ipv6PrefixCount ?? 0), 0);
  const before = each.ipv6Prefixes ?? [];
  const added = Array.from({ length: count }, (_, i) => `2001:db8:0:0:${(before.length + i + 1).toString(16)}::/80`);
  each.ipv6Prefixes = [...before, ...added];
  cloud.keep(instance);
  return elements({
    networkInterfaceId: each.networkInterfaceId,
    assignedIpv6PrefixSet: added.map((prefix): Element => ['item', prefix]),
  });
}
