import { planHooks, withEvent } from '../hooks/hooks.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { Plan } from '../model/plan.ts';
import { withOperation } from '../model/status.ts';
import { hasJoined } from './health.ts';

/**
 * The machine stays Pending until its `after-ready` hooks are finished, so it does not count as available. The creation
 * timeout still applies.
 */
export function planReadyHooks(o: MachineObservation, now: Date): Plan | undefined {
  const { status } = o.machine;
  if (!o.hasTarget || status?.currentStatus?.phase !== 'Pending' || !hasJoined(o)) return undefined;
  return planHooks(o, 'after-ready', now, (because, event) => {
    const description = `Node has joined: ${because}`;
    if (status.lastOperation?.description === description) return [];
    const operation = { description, state: 'Processing', type: 'Create' } as const;
    return withEvent([{ do: 'writeStatus', status: withOperation(status, operation, now) }], event);
  });
}
