import type { Failure } from '../../driver/contract/bundle.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, type Plan, wait } from '../model/plan.ts';

/** The maximum time for which mcm collects evidence before it marks a machine as Failed. */
export const EVIDENCE_BOUND_MS = 30_000;

/**
 * Stores the evidence of a machine before mcm marks the machine as Failed, because the MachineSet deletes a Failed
 * machine.
 */
export function keepEvidenceFirst(o: MachineObservation, plan: Plan, now: Date): Plan {
  if (!o.keepsEvidence || !o.machine.spec.providerID) return plan;
  const failing = plan.actions.find(isMarkingFailed);
  if (!failing || o.machine.status?.currentStatus?.phase === 'Failed') return plan;
  const { phase = '', lastUpdateTime = '' } = o.machine.status?.currentStatus ?? {};
  const id = `${phase} ${lastUpdateTime}`;
  if (o.evidence?.failure !== id) {
    const failure: Failure = { id, reason: failing.status.lastOperation?.description ?? '', at: now };
    return act('storing evidence before the machine becomes Failed', { do: 'keepEvidence', failure });
  }
  const until = new Date(o.evidence.since.getTime() + EVIDENCE_BOUND_MS);
  return o.evidence.settled || now >= until ? plan : wait('collecting evidence of the failure', until);
}

const isMarkingFailed = (action: Action): action is Extract<Action, { do: 'writeStatus' }> =>
  action.do === 'writeStatus' && action.status.currentStatus?.phase === 'Failed';
