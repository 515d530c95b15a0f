import type { DriverRequest, MachineRequest } from '@mcm/core/driver';
import { isOthers, MachineError, type ObservedCall } from '@mcm/core/driver';
import type { Ec2, Instance } from '../ec2/client.ts';
import { instanceIdOf } from '../spec/provider-id.ts';
import type { AwsCredentials, AwsProviderSpec } from '../spec/schemas.ts';
import type { EndedInstances } from './ended-instances.ts';
import { fromCloud, isAbsentInstance } from './errors.ts';
import { NAME_TAG } from './run-instances.ts';
import { clusterTagOf, roleTagOf } from './validate.ts';

export type Request = DriverRequest<AwsProviderSpec, AwsCredentials>;
export type OnMachine = MachineRequest<AwsProviderSpec, AwsCredentials>;

/** The states of VMs that exist. A VM with the state `shutting-down` counts as deleted. */
const LIVING = ['pending', 'running', 'stopping', 'stopped'];

const filters = ({ spec }: Request, names?: readonly string[]) => {
  const keys = Object.keys(spec.tags ?? {});
  const tagKey = (key: string | undefined) => ({ Name: 'tag-key', Values: key === undefined ? [] : [key] });
  return [
    ...(names === undefined ? [] : [{ Name: `tag:${NAME_TAG}`, Values: [...names] }]),
    tagKey(clusterTagOf(keys)),
    tagKey(roleTagOf(keys)),
    { Name: 'instance-state-name', Values: LIVING },
  ];
};

const nameOf = ({ Tags = [] }: Instance): string | undefined => Tags.find(({ Key }) => Key === NAME_TAG)?.Value;

export const listByTags = (ec2: Ec2, request: Request): Promise<readonly Instance[]> =>
  ec2.instances({ Filters: filters(request) }, request.signal);

/**
 * Finds the VMs that have the given name, the cluster tag and the role tag. Concurrent lookups share one request.
 * @throws the error of EC2
 */
export function findByTags(ec2: Ec2, request: Request, name: string): Promise<readonly Instance[]> {
  const keys = Object.keys(request.spec.tags ?? {});
  const shared = ec2.sharedLookup(
    JSON.stringify([clusterTagOf(keys), roleTagOf(keys)]),
    (names, signal) => ec2.instances({ Filters: filters(request, names.map(quoted)) }, signal),
    nameOf,
  );
  return shared.find(name, request.signal);
}

/**
 * Escapes the wildcards in a filter value. Names in Kubernetes contain no wildcards, but the driver does not rely on
 * that.
 */
const quoted = (name: string): string => name.replaceAll(/[\\*?]/g, '\\$&');

/**
 * Finds the VMs that may belong to a machine, by its name. The following VMs are excluded:
 * - VMs of another control cluster
 * - VMs that this process has terminated, because EC2 may still show them as running
 *
 * If there are several VMs, and the Machine contains the ID of one of them, only this VM is returned.
 * @throws the error of EC2
 */
export async function findByName(ec2: Ec2, request: OnMachine, ended: EndedInstances): Promise<readonly Instance[]> {
  const { metadata, spec } = request.machine;
  const tagged = await findByTags(ec2, request, metadata.name);
  if (spec.providerID) {
    const own =
      tagged.length > 1
        ? tagged.find(({ InstanceId: id = '' }) => id === instanceIdOf(spec.providerID ?? ''))
        : undefined;
    return own ? [own] : tagged;
  }
  return tagged.filter(({ InstanceId = '', Tags = [] }) => !ended.has(InstanceId) && !isOthers(request, tagsOf(Tags)));
}

export const tagsOf = (tags: NonNullable<Instance['Tags']>): Readonly<Record<string, string>> =>
  Object.fromEntries(tags.map(({ Key = '', Value = '' }) => [Key, Value]));

/** Finds an instance in any state. */
export async function findById(ec2: Ec2, id: string, signal: AbortSignal): Promise<Instance | undefined> {
  const shared = ec2.sharedLookup(
    'ids',
    // Several IDs are sent as a filter, because one unknown ID in `InstanceIds` would fail the whole request.
    (ids, each) =>
      ids.length === 1
        ? ec2.instances({ InstanceIds: [...ids] }, each)
        : ec2.instances({ Filters: [{ Name: 'instance-id', Values: [...ids] }] }, each),
    ({ InstanceId }) => InstanceId,
  );
  return (await shared.find(id, signal))[0];
}

/**
 * Finds the VMs of a machine by its name, its cluster tag and its role tag. If no VM has the name and the tags, the
 * provider ID is used. Terminated VMs are ignored.
 * @throws MachineError `NotFound`, `InvalidArgument` for an invalid provider ID, `Internal`
 */
export async function findMachine(
  ec2: Ec2,
  request: OnMachine,
  ended: EndedInstances,
  timed: ObservedCall,
): Promise<readonly Instance[]> {
  const { machine, signal } = request;
  try {
    const tagged = await timed('instance_get_by_tag_and_status', () => findByName(ec2, request, ended));
    if (tagged.length > 0) return tagged;
  } catch (thrown) {
    throw fromCloud(thrown, signal);
  }
  const { providerID } = machine.spec;
  if (!providerID) throw new MachineError('NotFound', 'No ProviderID found on the machine');
  const id = instanceIdOf(providerID);
  const absent = (): MachineError =>
    new MachineError('NotFound', 'AWS plugin is returning no VM instances backing this machine object');
  try {
    const found = await timed('instance_get_by_id', () => findById(ec2, id, signal));
    if (found && found.State?.Name !== 'terminated') return [found];
  } catch (thrown) {
    throw isAbsentInstance(thrown) ? absent() : fromCloud(thrown, signal);
  }
  throw absent();
}
