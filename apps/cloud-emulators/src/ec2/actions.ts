import { createHash } from 'node:crypto';
import { type Ec2Endpoint, Ec2Error, entriesOf, listOf, type Params } from './endpoint.ts';
import type { CloudInstance, CloudInterface, ScriptRule } from './model.ts';
import { type Element, elements, items } from './xml.ts';

const STATES: Readonly<Record<string, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export function describeImages({ options }: Ec2Endpoint, params: Params, rule?: ScriptRule): readonly Element[] {
  const asked = listOf(params, 'ImageId');
  const known = options.images ?? asked.map((imageId) => ({ imageId, rootDeviceName: '/dev/xvda' }));
  const found = rule?.empty ? [] : known.filter(({ imageId }) => asked.includes(imageId));
  const one = ({ imageId, rootDeviceName }: (typeof known)[number]) => elements({ imageId, rootDeviceName });
  return [['imagesSet', items(found, one)]];
}

const networkInterface = (each: CloudInterface): readonly Element[] =>
  elements({
    networkInterfaceId: each.networkInterfaceId,
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

const instanceElement = (each: CloudInstance, state = each.state): readonly Element[] =>
  elements({
    instanceId: each.instanceId,
    instanceState: state && elements({ code: STATES[state] ?? 0, name: state }),
    imageId: each.image,
    privateDnsName: each.privateDnsName,
    instanceType: each.machineType,
    launchTime: each.launchTime,
    placement: each.zone && elements({ availabilityZone: each.zone, groupName: '', tenancy: 'default' }),
    privateIpAddress: each.privateIp,
    sourceDestCheck: each.sourceDestCheck,
    networkInterfaceSet: items(each.networkInterfaces ?? [], networkInterface),
    tagSet: items(Object.entries(each.tags ?? {}), ([key, value]) => elements({ key, value })),
  });

export function describeInstances(cloud: Ec2Endpoint, params: Params, rule?: ScriptRule): readonly Element[] {
  const ids = listOf(params, 'InstanceId');
  if (rule?.notVisible && ids.length > 0) throw unknownId(ids[0] ?? '');
  const shown = cloud.instances.filter(({ visibleFrom = 0 }) => visibleFrom <= cloud.now);
  for (const each of shown) settle(cloud, each);
  for (const id of rule?.empty ? [] : ids) if (!shown.some(({ instanceId }) => instanceId === id)) throw unknownId(id);
  const filters = entriesOf(params, 'Filter').map((filter) => ({
    name: filter.Name ?? '',
    values: listOf(filter, 'Value'),
  }));
  const hits =
    rule?.empty || rule?.notVisible
      ? []
      : shown.filter(
          (each) =>
            (ids.length === 0 || ids.includes(each.instanceId ?? '')) &&
            filters.every((filter) => matches(each, filter)),
        );
  return page(cloud, hits, params.NextToken);
}

const tokenOf = (ordinal: number): string => `token-${ordinal}`;

function afterOf(token: string): number {
  const [, ordinal] = /^token-(\d+)$/.exec(token) ?? [];
  if (ordinal === undefined) throw new Ec2Error('InvalidNextToken', 'The token is invalid or has expired.');
  return Number(ordinal);
}

/** A page goes on after what was told last, also when others have come or gone meanwhile. */
function page(cloud: Ec2Endpoint, hits: readonly CloudInstance[], token: string | undefined): readonly Element[] {
  const { options } = cloud;
  const size = options.pageSize ?? Number.POSITIVE_INFINITY;
  const after = token === undefined ? 0 : afterOf(token);
  const left = hits.filter((each) => cloud.ordinalOf(each) > after);
  const some = left.slice(0, size);
  const last = some.at(-1);
  const next = last && some.length < left.length ? tokenOf(cloud.ordinalOf(last)) : undefined;
  const reservations = Map.groupBy(some, ({ reservation, instanceId }) => reservation ?? `r-of-${instanceId}`);
  const one = ([reservationId, instances]: [string, readonly CloudInstance[]]) =>
    elements({ reservationId, instancesSet: items(instances, (each) => instanceElement(each)) });
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

/** A filter's value with its wildcards, as EC2 takes it: `*` any text, `?` one letter. */
const matchesText = (pattern: string, text: string | undefined): boolean =>
  text !== undefined &&
  new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  ).test(text);

/** Brings the state up to the clock. */
export function settle(cloud: Ec2Endpoint, each: CloudInstance): void {
  const { bootMs = 0 } = cloud.options;
  if (each.state === 'pending' && Date.parse(each.launchTime ?? '') + bootMs <= cloud.now) each.state = 'running';
  if (each.state === 'shutting-down' && (each.terminatedFrom ?? Number.POSITIVE_INFINITY) <= cloud.now)
    each.state = 'terminated';
}

const unknownId = (id: string): Ec2Error =>
  new Ec2Error('InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`);

export function runInstances(cloud: Ec2Endpoint, params: Params, region: string): readonly Element[] {
  const token = params.ClientToken;
  const same = cloud.instances.filter(({ clientToken }) => token !== undefined && clientToken === token);
  if (same.some(({ fingerprint }) => fingerprint !== undefined && fingerprint !== fingerprintOf(params)))
    throw new Ec2Error(
      'IdempotentParameterMismatch',
      'The client token you have provided is associated with a previous launch request with other parameters.',
    );
  const made = same.length > 0 ? same : launch(cloud, params, region);
  for (const each of same) settle(cloud, each);
  return elements({
    reservationId: 'r-0c0ffee',
    ownerId: '111122223333',
    instancesSet: items(made, (each) =>
      instanceElement(launchName(cloud, each), same.length > 0 ? each.state : 'pending'),
    ),
  });
}

const launchName = ({ options: { launch: answer } }: Ec2Endpoint, each: CloudInstance): CloudInstance =>
  answer && 'privateDnsName' in answer ? { ...each, privateDnsName: answer.privateDnsName } : each;

/** What may not differ between two launches with one token. */
const fingerprintOf = (params: Params): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(params).toSorted()))
    .digest('hex');

/** A launch in a zone: that of the first interface's subnet, whose last letter names it; the region's first otherwise. */
const zoneOf = (params: Params, region: string): string =>
  params['Placement.AvailabilityZone'] ??
  `${region}${/-([a-f])$/.exec(params['NetworkInterface.1.SubnetId'] ?? params.SubnetId ?? '')?.[1] ?? 'a'}`;

function launch(cloud: Ec2Endpoint, params: Params, region: string): CloudInstance[] {
  const { launch: answer = {}, visibleAfterMs = 0 } = cloud.options;
  cloud.launches++;
  const number = String(cloud.launches).padStart(10, '0');
  const ids = answer.instanceIds ?? [`i-0c0ffee${number.slice(-10)}`];
  const [spec] = entriesOf(params, 'TagSpecification').filter(({ ResourceType: type }) => type === 'instance');
  const tags = Object.fromEntries(entriesOf(spec ?? {}, 'Tag').map(({ Key = '', Value = '' }) => [Key, Value]));
  const made = ids.map((instanceId, i): CloudInstance => {
    const interfaces = entriesOf(params, 'NetworkInterface').map(
      (nic, j): CloudInterface => ({
        networkInterfaceId: `eni-0c0ffee${cloud.launches > 1 ? `${cloud.launches}` : ''}${String(j + 1).padStart(2, '0')}`,
        sourceDestCheck: true,
        interfaceType: nic.InterfaceType ?? 'interface',
        deviceIndex: Number(nic.DeviceIndex ?? 0),
        ...(nic.DeleteOnTermination === 'false' ? { deleteOnTermination: false } : {}),
      }),
    );
    return {
      instanceId,
      state: 'pending',
      tags,
      reservation: `launch-${cloud.launches}`,
      sourceDestCheck: true,
      networkInterfaces: interfaces,
      launchTime: new Date(cloud.now).toISOString(),
      visibleFrom: cloud.now + visibleAfterMs,
      fingerprint: fingerprintOf(params),
      region,
      zone: zoneOf(params, region),
      machineType: params.InstanceType ?? 'm1.small',
      image: params.ImageId ?? '',
      privateIp: addressOf(cloud.launches + i),
      userData: Buffer.from(params.UserData ?? '', 'base64').toString('utf8'),
      ...(params.ClientToken === undefined ? {} : { clientToken: params.ClientToken }),
      ...nameOf(answer, cloud.launches + i, cloud.options.dnsRegion ?? region),
    };
  });
  cloud.instances.push(...made);
  for (const each of made) {
    attachVolumes(cloud, params, each);
    cloud.keep(each);
    cloud.powerOn(each, false);
  }
  return made;
}

/** Volumes are listed for what is left of them; no action of the driver reads them. */
function attachVolumes(cloud: Ec2Endpoint, params: Params, { instanceId = '', tags = {} }: CloudInstance): void {
  for (const [index, mapping] of entriesOf(params, 'BlockDeviceMapping').entries()) {
    const volumeId = `vol-${String(instanceId).slice(2)}${index}`;
    cloud.volumes.put(volumeId, {
      volumeId,
      deviceName: mapping.DeviceName ?? '',
      deleteOnTermination: mapping['Ebs.DeleteOnTermination'] !== 'false',
      name: tags.Name ?? '',
      instanceId: instanceId ?? '',
    });
  }
}

const addressOf = (number: number): string => `10.180.${4 + Math.floor((20 + number) / 250)}.${(20 + number) % 250}`;

function nameOf(
  answer: NonNullable<Ec2Endpoint['options']['launch']>,
  number: number,
  region: string,
): Pick<CloudInstance, 'privateDnsName'> {
  if ('describedPrivateDnsName' in answer) return { privateDnsName: answer.describedPrivateDnsName };
  if ('privateDnsName' in answer) return { privateDnsName: answer.privateDnsName };
  const domain = region === 'us-east-1' ? 'ec2.internal' : `${region || 'eu-north-1'}.compute.internal`;
  return { privateDnsName: `ip-${addressOf(number).replaceAll('.', '-')}.${domain}` };
}

export function terminate(cloud: Ec2Endpoint, params: Params): readonly Element[] {
  const ids = listOf(params, 'InstanceId');
  const found = ids.map((id) => {
    const each = cloud.instances.find(({ instanceId }) => (instanceId ?? '') === id);
    if (!each || (each.visibleFrom ?? 0) > cloud.now) throw unknownId(id);
    return each;
  });
  const changed = found.map((each) => {
    const before = each.state;
    if (before !== 'terminated') each.state = 'shutting-down';
    if (each.terminatedFrom === undefined) {
      const { shutdownMs } = cloud.options;
      if (shutdownMs !== undefined) each.terminatedFrom = cloud.now + shutdownMs;
      each.userData = '';
      cloud.power.off(each.instanceId ?? '');
      releaseVolumes(cloud, each);
      releaseInterfaces(cloud, each);
      cloud.keep(each);
    }
    return { each, before };
  });
  const state = (name: string | null | undefined) => name && elements({ code: STATES[name] ?? 0, name });
  const one = ({ each, before }: (typeof changed)[number]) =>
    elements({ instanceId: each.instanceId, currentState: state(each.state), previousState: state(before) });
  return [['instancesSet', items(changed, one)]];
}

function releaseVolumes({ volumes }: Ec2Endpoint, { instanceId }: CloudInstance): void {
  for (const { instanceId: of, ...volume } of volumes.values()) {
    if (of !== instanceId) continue;
    if (volume.deleteOnTermination) volumes.delete(volume.volumeId);
    else volumes.put(volume.volumeId, volume);
  }
}

function releaseInterfaces({ looseInterfaces }: Ec2Endpoint, { networkInterfaces = [], tags }: CloudInstance): void {
  for (const { networkInterfaceId, deleteOnTermination = true } of networkInterfaces)
    if (networkInterfaceId && !deleteOnTermination)
      looseInterfaces.put(networkInterfaceId, { networkInterfaceId, name: tags?.Name ?? '' });
}

function interfaceOf(cloud: Ec2Endpoint, id = ''): { instance: CloudInstance; each: CloudInterface } {
  for (const instance of cloud.instances)
    for (const each of instance.networkInterfaces ?? []) if (each.networkInterfaceId === id) return { instance, each };
  throw new Ec2Error('InvalidNetworkInterfaceID.NotFound', `The networkInterface ID '${id}' does not exist`);
}

export function modifyInterface(cloud: Ec2Endpoint, params: Params): readonly Element[] {
  const { instance, each } = interfaceOf(cloud, params.NetworkInterfaceId);
  each.sourceDestCheck = params['SourceDestCheck.Value'] !== 'false';
  if (each.deviceIndex === 0) instance.sourceDestCheck = each.sourceDestCheck;
  cloud.keep(instance);
  return [['return', true]];
}

export function assignPrefixes(cloud: Ec2Endpoint, params: Params): readonly Element[] {
  const { instance, each } = interfaceOf(cloud, params.NetworkInterfaceId);
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
