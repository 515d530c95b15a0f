const PREFIX = 'local:///';

/** Formats a provider ID: `local:///<zone>/<instance id>`. */
export const formatProviderId = (instance: { readonly zone: string; readonly id: string }): string =>
  `${PREFIX}${instance.zone}/${instance.id}`;

/** Returns the instance ID, or undefined if the text is not a provider ID of this cloud. */
export function instanceIdOf(providerId: string): string | undefined {
  const [zone, id, ...rest] = providerId.startsWith(PREFIX) ? providerId.slice(PREFIX.length).split('/') : [];
  return zone && id && rest.length === 0 ? id : undefined;
}
