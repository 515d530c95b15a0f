import { MachineError } from '@mcm/core/driver';

/** `aws:///REGION/INSTANCE`. */
export const formatProviderId = (region: string, instanceId: string): string => `aws:///${region}/${instanceId}`;

/**
 * As in the original, the prefix of the ID may have any value.
 * @throws `InvalidArgument`
 */
export function instanceIdOf(providerId: string): string {
  if (!providerId.includes('/')) throw new MachineError('InvalidArgument', 'unable to decode provider-ID');
  return providerId.slice(providerId.lastIndexOf('/') + 1);
}
