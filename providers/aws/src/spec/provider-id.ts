import { MachineError } from '@mcm/core/driver';

/** Formats a provider ID: `aws:///REGION/INSTANCE`. */
export const formatProviderId = (region: string, instanceId: string): string => `aws:///${region}/${instanceId}`;

/**
 * Returns the instance ID in a provider ID. The prefix may have any value, as in the original.
 * @throws `InvalidArgument`
 */
export function instanceIdOf(providerId: string): string {
  if (!providerId.includes('/')) throw new MachineError('InvalidArgument', 'unable to decode provider-ID');
  return providerId.slice(providerId.lastIndexOf('/') + 1);
}
