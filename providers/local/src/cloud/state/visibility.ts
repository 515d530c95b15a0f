import type { Instance, InstanceState } from '../../machine/model.ts';

/**
 * Returns the state that an instance had `staleMs` ago, or undefined if the instance did not exist yet. Listings of
 * real clouds have a similar delay (eventual consistency in EC2).
 */
export function visibleState(instance: Instance, staleMs: number, now: Date): InstanceState | undefined {
  if (staleMs <= 0) return instance.state;
  const seenAt = now.getTime() - staleMs;
  if (Date.parse(instance.createdAt) > seenAt) return undefined;
  const past = instance.history.find(({ until }) => Date.parse(until) > seenAt);
  return past?.state ?? instance.state;
}
