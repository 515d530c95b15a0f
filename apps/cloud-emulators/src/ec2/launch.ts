import { createHash } from 'node:crypto';
import { bootText } from '@mcm/provider-local';
import type { OperationFault } from '../faults/faults.ts';
import { instanceElement, OWNER, settle, volumesOf } from './actions.ts';
import type { CloudInstance, CloudInterface } from './model.ts';
import { Ec2Error, entriesOf, listOf, type Params } from './params.ts';
import type { Ec2State } from './state.ts';
import { type Element, elements, items } from './xml.ts';

/** Launches instances for the action RunInstances. */
export function runInstances(
  cloud: Ec2State,
  params: Params,
  region: string,
  fault: OperationFault,
): readonly Element[] {
  const token = params.ClientToken;
  const same = cloud.instances.filter(({ clientToken }) => token !== undefined && clientToken === token);
  if (same.some(({ fingerprint }) => fingerprint !== undefined && fingerprint !== fingerprintOf(params)))
    throw new Ec2Error(
      'IdempotentParameterMismatch',
      'The client token you have provided is associated with a previous launch request with other parameters.',
    );
  const made = same.length > 0 ? same : launch(cloud, params, region, fault);
  for (const each of same) settle(cloud, each);
  return elements({
    reservationId: made[0]?.reservation ?? 'r-0c0ffee',
    ownerId: OWNER,
    instancesSet: items(made, (each) =>
      instanceElement(launchName(cloud, each), volumesOf(cloud, each), same.length > 0 ? each.state : 'pending'),
    ),
  });
}

const launchName = ({ options: { launch: answer } }: Ec2State, each: CloudInstance): CloudInstance =>
  answer && 'privateDnsName' in answer ? { ...each, privateDnsName: answer.privateDnsName } : each;

/** Returns a hash of the parameters that must be equal in all launches with the same client token. */
const fingerprintOf = (params: Params): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(params).toSorted()))
    .digest('hex');

/** Returns the zone of a launch. If the request contains no zone, the last letter of the subnet ID selects the zone. */
const zoneOf = (params: Params, region: string): string =>
  params['Placement.AvailabilityZone'] ??
  `${region}${/-([a-f])$/.exec(params['NetworkInterface.1.SubnetId'] ?? params.SubnetId ?? '')?.[1] ?? 'a'}`;

function launch(cloud: Ec2State, params: Params, region: string, fault: OperationFault): CloudInstance[] {
  const { failOperation, operationMs } = fault;
  const { launch: answer = {}, visibleAfterMs = 0 } = cloud.options;
  cloud.launches++;
  const number = String(cloud.launches).padStart(10, '0');
  const ids = answer.instanceIds ?? [`i-0c0ffee${number.slice(-10)}`];
  const [spec] = entriesOf(params, 'TagSpecification').filter(({ ResourceType: type }) => type === 'instance');
  const tags = Object.fromEntries(entriesOf(spec ?? {}, 'Tag').map(({ Key = '', Value = '' }) => [Key, Value]));
  const made = ids.map((instanceId, i): CloudInstance => {
    const interfaces = entriesOf(params, 'NetworkInterface').map(
      (nic, j): CloudInterface => ({
        subnetId: nic.SubnetId,
        groups: listOf(nic, 'SecurityGroupId'),
        privateIp: j === 0 ? addressOf(cloud.launches + i) : undefined,
        networkInterfaceId: `eni-0c0ffee${cloud.launches > 1 ? `${cloud.launches}` : ''}${String(j + 1).padStart(2, '0')}`,
        sourceDestCheck: true,
        interfaceType: nic.InterfaceType ?? 'interface',
        deviceIndex: Number(nic.DeviceIndex ?? 0),
        deleteOnTermination: nic.DeleteOnTermination === 'false' ? false : undefined,
      }),
    );
    return {
      instanceId,
      state: 'pending',
      tags,
      reservation: `r-0c0ffee${number}`,
      sourceDestCheck: true,
      networkInterfaces: interfaces,
      launchTime: new Date(cloud.now).toISOString(),
      visibleFrom: cloud.now + (fault.visibleAfterMs ?? visibleAfterMs),
      bootMs: operationMs,
      bootFails: failOperation,
      fingerprint: fingerprintOf(params),
      region,
      zone: zoneOf(params, region),
      machineType: params.InstanceType ?? 'm1.small',
      image: params.ImageId ?? '',
      privateIp: addressOf(cloud.launches + i),
      userData: bootText(Buffer.from(params.UserData ?? '', 'base64')),
      clientToken: params.ClientToken,
      hibernation: params['HibernationOptions.Configured'] === 'true',
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

/**
 * Adds the volumes of a new instance. The driver of AWS does not read volumes, but tests search for leftover volumes.
 */
function attachVolumes(cloud: Ec2State, params: Params, { instanceId = '', tags = {} }: CloudInstance): void {
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
  answer: NonNullable<Ec2State['options']['launch']>,
  number: number,
  region: string,
): Pick<CloudInstance, 'privateDnsName'> {
  if ('describedPrivateDnsName' in answer) return { privateDnsName: answer.describedPrivateDnsName };
  if ('privateDnsName' in answer) return { privateDnsName: answer.privateDnsName };
  const domain = region === 'us-east-1' ? 'ec2.internal' : `${region || 'eu-north-1'}.compute.internal`;
  return { privateDnsName: `ip-${addressOf(number).replaceAll('.', '-')}.${domain}` };
}
