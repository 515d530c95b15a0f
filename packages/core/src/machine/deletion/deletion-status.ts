import {
  type DeletionStep,
  DRAIN_TIMEOUT_EXPIRED,
  formatTime,
  MachineConditions,
  type MachineState,
  type MachineStatus,
  STEP_TEXTS,
} from '@mcm/api';
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

/** The condition `DrainFailed` exists only while the policy `Fail` keeps the VM. */
function withDrainFailed(status: MachineStatus | undefined, message: string | undefined, now: Date): MachineStatus {
  const all = status?.conditions ?? [];
  const type = MachineConditions.DrainFailed;
  const before = all.find((condition) => condition.type === type);
  if (before?.message === message) return { ...status };
  const rest = all.filter((condition) => condition !== before);
  if (message === undefined) return { ...status, conditions: rest };
  const lastTransitionTime = before?.lastTransitionTime ?? formatTime(now);
  return {
    ...status,
    conditions: [...rest, { type, status: 'True', reason: DRAIN_TIMEOUT_EXPIRED, message, lastTransitionTime }],
  };
}

export function say(
  o: MachineObservation,
  wanted: Operation,
  now: Date,
  {
    alike = () => true,
    drainFailed,
  }: { alike?: (a: string, b: string) => boolean; drainFailed?: string | undefined } = {},
): Action[] {
  const status = withOperation(withDrainFailed(o.machine.status, drainFailed, now), wanted, now);
  const old = o.machine.status?.lastOperation;
  const same = old?.description === wanted.description && old.state === wanted.state && old.type === wanted.type;
  const reported = wanted.state === 'Failed' && alike(old?.description ?? '', wanted.description);
  if (same || (reported && isSimilarStatus(o.machine.status, status))) return [];
  const event = { type: 'Warning', reason: 'DeletionBlocked', message: wanted.description } as const;
  const reports = `${wanted.state}: ${wanted.description}`;
  return [defined({ do: 'writeStatus', status, reports, event: wanted.state === 'Failed' ? event : undefined })];
}
