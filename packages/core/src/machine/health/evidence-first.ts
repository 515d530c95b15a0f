import type { Failure } from '../../driver/contract/bundle.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, type Plan, wait } from '../model/plan.ts';

/** How long a failed machine is kept from being marked Failed, and so from being replaced, while evidence is gathered. */
export const EVIDENCE_BOUND_MS = 30_000;

/**
 * Before a machine with a VM is marked Failed, whereupon its set deletes it, what can be told of the failure is kept:
 * a crash at any moment leads back here, where what is kept already is found by its name. It costs its bound at most.
 */
export function keepEvidenceFirst(o: MachineObservation, plan: Plan, now: Date): Plan {
  if (!o.keepsEvidence || !o.machine.spec.providerID) return plan;
  const failing = plan.actions.find(isMarkingFailed);
  if (!failing || o.machine.status?.currentStatus?.phase === 'Failed') return plan;
  const { phase = '', lastUpdateTime = '' } = o.machine.status?.currentStatus ?? {};
  const id = `${phase} ${lastUpdateTime}`;
  if (o.evidence?.failure !== id) {
    const failure: Failure = { id, reason: failing.status.lastOperation?.description ?? '', at: now };
    return act('evidence of the failure is kept before the machine is Failed', { do: 'keepEvidence', failure });
  }
  const until = new Date(o.evidence.since.getTime() + EVIDENCE_BOUND_MS);
  return o.evidence.settled || now >= until ? plan : wait('evidence of the failure is being gathered', until);
}

const isMarkingFailed = (action: Action): action is Extract<Action, { do: 'writeStatus' }> =>
  action.do === 'writeStatus' && action.status.currentStatus?.phase === 'Failed';
