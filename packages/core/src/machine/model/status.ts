import {
  DELETION_STEPS,
  type DeletionStep,
  formatTime,
  type LastOperation,
  type MachineOperationType,
  type MachinePhase,
  type MachineState,
  type MachineStatus,
  STEP_TEXTS,
} from '@mcm/api';
import { defined } from '@mcm/kube';
import { jsonEquals } from '../../values/merge-diff.ts';
import { millis } from '../../values/timestamps.ts';

export interface Operation {
  readonly description: string;
  readonly state: MachineState;
  readonly type: MachineOperationType;
  readonly errorCode?: string;
}

export interface PhaseChange {
  readonly phase: MachinePhase;
  readonly timeoutActive?: boolean;
  /** The expiry of the preservation. A phase change without an expiry ends the preservation. */
  readonly preserveExpiryTime?: string | undefined;
}

const lastOperation = (operation: Operation, now: Date): LastOperation =>
  defined({
    description: operation.description,
    errorCode: operation.errorCode,
    lastUpdateTime: formatTime(now),
    state: operation.state,
    type: operation.type,
  });

export const withOperation = (status: MachineStatus | undefined, operation: Operation, now: Date): MachineStatus => ({
  ...status,
  lastOperation: lastOperation(operation, now),
});

export const withPhase = (
  status: MachineStatus | undefined,
  change: PhaseChange,
  operation: Operation,
  now: Date,
): MachineStatus => ({
  ...withOperation(status, operation, now),
  currentStatus: defined({
    phase: change.phase,
    lastUpdateTime: formatTime(now),
    timeoutActive: change.timeoutActive ? true : undefined,
    preserveExpiryTime: change.preserveExpiryTime || undefined,
  }),
});

/**
 * Returns the deletion step at the end of a description. An error message in a description may contain the text of
 * another step, so only the end counts.
 */
export function stepOf(description: string | undefined): DeletionStep | undefined {
  if (!description) return undefined;
  const atEnd = DELETION_STEPS.find((step) => description.trimEnd().endsWith(STEP_TEXTS[step]));
  return atEnd ?? DELETION_STEPS.find((step) => description.includes(STEP_TEXTS[step]));
}

export function hasReached(status: MachineStatus | undefined, step: DeletionStep): boolean {
  if (status?.currentStatus?.phase !== 'Terminating') return false;
  const reached = stepOf(status.lastOperation?.description);
  return reached !== undefined && DELETION_STEPS.indexOf(reached) >= DELETION_STEPS.indexOf(step);
}

/**
 * mcm writes an unchanged failure to the status again after this time, so that the time of the failure stays recent.
 */
const REFRESH_MS = 30 * 60_000;

/**
 * If the similarity of two texts exceeds this value, the texts count as equal. For example, two errors may differ only
 * in their request IDs.
 */
const SIMILAR = 0.75;

const COMPARED_LENGTH = 1_000;

/** Returns true if two statuses differ only in times and in variable parts of the description, such as request IDs. */
export function isSimilarStatus(previous: MachineStatus | undefined, next: MachineStatus): boolean {
  if (!previous?.lastOperation || !next.lastOperation) return jsonEquals(previous, next);
  const age = millis(next.lastOperation.lastUpdateTime) - millis(previous.lastOperation.lastUpdateTime);
  if (Math.abs(age) > REFRESH_MS) return false;
  return jsonEquals(comparable(previous), comparable(next)) && alike(previous.lastOperation, next.lastOperation);
}

function comparable(status: MachineStatus): object {
  const { lastOperation: operation, currentStatus, ...rest } = status;
  return {
    ...rest,
    currentStatus: {
      ...currentStatus,
      lastUpdateTime: undefined,
      timeoutActive: currentStatus?.timeoutActive === true,
    },
    lastOperation: { ...operation, lastUpdateTime: undefined, description: undefined },
    step: stepOf(operation?.description),
  };
}

function alike(a: LastOperation, b: LastOperation): boolean {
  const [left, right] = [a.description ?? '', b.description ?? ''];
  return left === right || similarity(left, right) > SIMILAR;
}

export function similarity(a: string, b: string): number {
  const [left, right] = [a.slice(0, COMPARED_LENGTH), b.slice(0, COMPARED_LENGTH)];
  const mean = (left.length + right.length) / 2;
  return mean === 0 ? 0 : 1 - levenshtein(left, right) / mean;
}

function levenshtein(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
