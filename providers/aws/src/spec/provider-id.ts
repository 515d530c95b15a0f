import { MachineError } from '@mcm/core/driver';

/** Returns the provider ID of an instance: `aws:///REGION/INSTANCE`. */
export const formatProviderId = (region: string, instanceId: string): string => `aws:///${region}/${instanceId}`;

/** The last part of a provider ID with any prefix, as in the original. @throws `InvalidArgument` */
export function instanceIdOf(providerId: string): string {
  if (!providerId.includes('/')) throw new MachineError('InvalidArgument', 'unable to decode provider-ID');
  return providerId.slice(providerId.lastIndexOf('/') + 1);
}
