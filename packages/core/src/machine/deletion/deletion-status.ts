import { type DeletionStep, type MachineState, STEP_TEXTS } from '@mcm/api';
import { defined } from '@mcm/kube';
import type { MachineObservation } from '../model/observation.ts';
import type { Action } from '../model/plan.ts';
import { isSimilarStatus, type Operation, withOperation } from '../model/status.ts';

export const operation = (description: string, state: MachineState = 'Processing'): Operation => ({
  description,
  state,
  type: 'Delete',
});

export const at = (step: DeletionStep, note = ''): string => (note ? `${note} ${STEP_TEXTS[step]}` : STEP_TEXTS[step]);

export function say(
  o: MachineObservation,
  wanted: Operation,
  now: Date,
  alike: (a: string, b: string) => boolean = () => true,
): Action[] {
  const status = withOperation(o.machine.status, wanted, now);
  const old = o.machine.status?.lastOperation;
  const same = old?.description === wanted.description && old.state === wanted.state && old.type === wanted.type;
  const reported = wanted.state === 'Failed' && alike(old?.description ?? '', wanted.description);
  if (same || (reported && isSimilarStatus(o.machine.status, status))) return [];
  const event = { type: 'Warning', reason: 'DeletionBlocked', message: wanted.description } as const;
  const reports = `${wanted.state}: ${wanted.description}`;
  return [defined({ do: 'writeStatus', status, reports, event: wanted.state === 'Failed' ? event : undefined })];
}
