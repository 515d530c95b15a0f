import type { MachineStatus } from '@mcm/api';
import { planHooks, withEvent } from '../hooks/hooks.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { Plan } from '../model/plan.ts';
import { withOperation, withPhase } from '../model/status.ts';
import { hasJoined } from './health.ts';

/** Returns true while mcm repeats `create`, although the VM may exist and its Node may be Ready. */
const isRetryingCreation = ({ currentStatus, lastOperation }: MachineStatus): boolean =>
  currentStatus?.phase === 'CrashLoopBackOff' && lastOperation?.type === 'Create';

/**
 * Keeps a machine Pending until its `after-ready` hooks are finished, so the machine does not count as available. The
 * creation timeout also applies during the `after-ready` hooks. The `after-ready` hooks also delay a machine whose VM
 * exists although the `create` call failed.
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
