import type { DriverRequest, MachineRequest } from '@mcm/core';
import { MachineError } from '@mcm/core';
import type { Ec2, Instance } from '../ec2/client.ts';
import { fromCloud, isAbsentInstance } from './errors.ts';
import type { Timed } from './metrics.ts';
import { instanceIdOf } from './provider-id.ts';
import { NAME_TAG } from './run-instances.ts';
import type { AwsCredentials, AwsProviderSpec } from './schemas.ts';
import { clusterTagOf, roleTagOf } from './validate.ts';

export type Request = DriverRequest<AwsProviderSpec, AwsCredentials>;
export type OnMachine = MachineRequest<AwsProviderSpec, AwsCredentials>;

/** States in which a VM is there; one that is shutting down is as good as gone. */
const LIVING = ['pending', 'running', 'stopping', 'stopped'];

/** All VMs of the class's cluster and role; of one name when `name` is given. @throws what EC2 threw */
export function findByTags(ec2: Ec2, { spec, signal }: Request, name?: string): Promise<readonly Instance[]> {
  const keys = Object.keys(spec.tags ?? {});
  const tagKey = (key: string | undefined) => ({ Name: 'tag-key', Values: key === undefined ? [] : [key] });
  const Filters = [
    ...(name === undefined ? [] : [{ Name: `tag:${NAME_TAG}`, Values: [name] }]),
    tagKey(clusterTagOf(keys)),
    tagKey(roleTagOf(keys)),
    { Name: 'instance-state-name', Values: LIVING },
  ];
  return ec2.instances({ Filters }, signal);
}

/** A VM by its id, in whatever state. */
export const findById = async (ec2: Ec2, id: string, signal: AbortSignal): Promise<Instance | undefined> =>
  (await ec2.instances({ InstanceIds: [id] }, signal))[0];

/**
 * The VMs of a machine: by its name among those of cluster and role, else by its provider id, which finds a VM that has
 * been terminated as well.
 * @throws MachineError `NotFound`, `InvalidArgument` for a provider id that is none, `Internal`
 */
export async function findMachine(ec2: Ec2, request: OnMachine, timed: Timed): Promise<readonly Instance[]> {
  const { machine, signal } = request;
  try {
    const tagged = await timed('instance_get_by_tag_and_status', () => findByTags(ec2, request, machine.metadata.name));
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
    if (found) return [found];
  } catch (thrown) {
    throw isAbsentInstance(thrown) ? absent() : fromCloud(thrown, signal);
  }
  throw absent();
}
