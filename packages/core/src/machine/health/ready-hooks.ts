import type { MachineStatus } from '@mcm/api';
import { planHooks, withEvent } from '../hooks/hooks.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { Plan } from '../model/plan.ts';
import { withOperation, withPhase } from '../model/status.ts';
import { hasJoined } from './health.ts';

/**
 * Returns true if a call to create the VM failed. The VM may exist although the call failed, so its Node may already be
 * Ready.
 */
const isRetryingCreation = ({ currentStatus, lastOperation }: MachineStatus): boolean =>
  currentStatus?.phase === 'CrashLoopBackOff' && lastOperation?.type === 'Create';

/**
 * A machine stays Pending until its `after-ready` hooks are finished, so it does not count as available. During
 * `after-ready` hooks, the creation timeout still applies. A machine waits for these hooks even if its VM exists
 * although the call that created the VM failed.
 */
export function planReadyHooks(o: MachineObservation, now: Date): Plan | undefined {
  const { status } = o.machine;
  if (!o.hasTarget || !status || !hasJoined(o)) return undefined;
  if (status.currentStatus?.phase !== 'Pending' && !isRetryingCreation(status)) return undefined;
  return planHooks(o, 'after-ready', now, (because, event) => {
    const description = `Node has joined: ${because}`;
    if (status.lastOperation?.description === description) return [];
    const operation = { description, state: 'Processing', type: 'Create' } as const;
    const next = isRetryingCreation(status)
      ? withPhase(status, { phase: 'Pending' }, operation, now)
      : withOperation(status, operation, now);
    return withEvent([{ do: 'writeStatus', status: next }], event);
  });
}
