import { Annotations, type MachineStatus, phaseOf, printMachineError } from '@mcm/api';
import { isNodeOf } from '../../node/instance.ts';
import { after, joinDeadline } from '../../values/timestamps.ts';
import {
  isTaken,
  type Power,
  powerOf,
  powerText,
  type WarmState,
  WarmTexts,
  warmStateOf,
} from '../../warm/warm-machine.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { type Action, act, type Plan, type PlannedEvent, wait } from '../model/plan.ts';
import { CALL_RETRIES, isTransient, retryAfter } from '../model/retry.ts';
import { isSimilarStatus, type Operation, withOperation, withPhase } from '../model/status.ts';

/**
 * If a MachineSet does not complete the adoption of a warm machine within this time, the machine returns to the warm
 * pool.
 */
const TAKEN_MS = 30_000;
const LOOK_MS = 3_600_000;

const annotatePower = (power: string | null): Action => ({
  do: 'annotate',
  annotations: { [Annotations.WarmPower]: power },
});

/**
 * mcm records the power state before each call of `stop` or `start`, so that the next process can repeat the call after
 * a restart.
 */
export function planWarm(o: MachineObservation, now: Date): Plan | undefined {
  const state = warmStateOf(o.machine);
  const power = powerOf(o.machine);
  if (state === undefined) return power && planStart(o, power, now);
  const refusal = o.machine.spec.providerID ? undefined : refusalOf(o, state);
  if (refusal !== undefined) return refuse(o, refusal, now);
  if (isTaken(o.machine)) {
    const until = after(o.machine.status?.currentStatus?.lastUpdateTime, TAKEN_MS);
    if (now < until) return wait('a MachineSet is taking the warm machine', until);
  }
  return state === 'Running' && power === undefined ? undefined : planStop(o, power, now);
}

function refusalOf({ driver, hasTarget }: MachineObservation, state: WarmState): string | undefined {
  if (state === 'Running') return undefined;
  if (!driver.stop) return 'the driver cannot stop VMs; use the state Running';
  if (state === 'Hibernated' && !driver.hibernate) return 'the driver cannot hibernate VMs; use the state Stopped';
  return hasTarget ? undefined : 'without a target cluster, mcm stops no VM; use the state Running';
}

const isCurrent = (
  last: SettledCall | undefined,
  kind: 'stop' | 'start',
  { since }: Extract<Power, { since: Date }>,
): last is SettledCall => last?.kind === kind && last.at >= since;

/**
 * Records the power state again if its time is in the future, for example because the clock was set back. Otherwise, no
 * call would count as current, and mcm would repeat the call without a pause.
 */
const recordAgain = ({ is, since }: Extract<Power, { since: Date }>, now: Date): Plan | undefined =>
  since > now
    ? act('the recorded time of the power state is in the future', annotatePower(powerText(is, now)))
    : undefined;

/**
 * Refuses a setting that the driver does not support. mcm checks the setting before any driver call, so that no VM runs
 * in an unintended state.
 */
function refuse(o: MachineObservation, because: string, now: Date): Plan {
  const description = `mcm creates no VM for the warm machine: ${because}`;
  if (o.machine.status?.lastOperation?.description === description) return wait(description);
  const operation: Operation = { description, errorCode: 'Unimplemented', state: 'Failed', type: 'Create' };
  const status = withPhase(o.machine.status, { phase: 'CrashLoopBackOff' }, operation, now);
  const event: PlannedEvent = { type: 'Warning', reason: 'WarmUnsupported', message: description };
  return act(description, { do: 'writeStatus', status, event });
}

function planStop(o: MachineObservation, power: Power | undefined, now: Date): Plan | undefined {
  const { running, last } = o.calls;
  if (power === undefined) {
    const isInitialized = last?.kind !== 'initialize' || last.outcome.ok;
    if (phaseOf(o.machine) !== 'Running' || running || !isInitialized) return undefined;
    return act('the warm machine has joined: stopping its VM', annotatePower(powerText('Stopping', now)));
  }
  if (power.is === 'Stopped') return planStopped(o, now);
  if (power.is === 'Starting')
    return act('the machine is a warm machine again', annotatePower(powerText('Stopping', now)));
  const corrected = recordAgain(power, now);
  if (corrected) return corrected;
  if (running) return wait('the VM of the warm machine is being stopped');
  if (!isCurrent(last, 'stop', power)) return act('stopping the VM of the warm machine', { do: 'call', call: 'stop' });
  if (!last.outcome.ok) return planAgain(o, last, 'Stopping the VM of the warm machine failed', now);
  // mcm deletes the Node of a stopped VM, because other programs would treat a Node that is not Ready as an outage. The
  // kubelet on a stopped VM cannot register the Node again.
  const release: Action[] = o.node && isNodeOf(o.machine, o.node) ? [{ do: 'releaseNode' }] : [];
  const message = 'The VM of the warm machine is stopped until a scale-up';
  const event: PlannedEvent = { type: 'Normal', reason: 'WarmMachineStopped', message };
  return act('the VM has stopped', ...release, annotatePower('Stopped'), { do: 'say', event });
}

/** No Node shows whether a stopped VM still exists, so mcm looks up the VM periodically. */
function planStopped(o: MachineObservation, now: Date): Plan {
  if (o.node && isNodeOf(o.machine, o.node)) {
    return act('the Node of the stopped VM has registered again', annotatePower(powerText('Stopping', now)));
  }
  if (phaseOf(o.machine) !== 'Available') {
    const operation: Operation = { description: WarmTexts.stopped, state: 'Processing', type: 'Create' };
    const status = withPhase(o.machine.status, { phase: 'Available' }, operation, now);
    return act('the VM of the machine is stopped', { do: 'writeStatus', status: { ...status, conditions: [] } });
  }
  const because = 'the VM of the warm machine is stopped until a scale-up';
  const { running, last } = o.calls;
  if (running || !o.driver.status) return wait(because);
  if (last?.kind !== 'status' && last?.kind !== 'stop') return act(because, { do: 'call', call: 'status' });
  const { outcome } = last;
  if (last.kind === 'status' && !outcome.ok && outcome.error.code === 'NotFound') {
    const message = `The stopped VM of the warm machine no longer exists: ${printMachineError(outcome.error)}`;
    return { actions: [deletion(message)], next: { kind: 'wait' }, because: message };
  }
  if (last.kind === 'status' && outcome.ok && outcome.ending === undefined)
    return act('the stopped VM runs again', annotatePower(powerText('Stopping', now)));
  const lookAt = new Date(last.at.getTime() + LOOK_MS);
  return now < lookAt ? wait(because, lookAt) : act(because, { do: 'call', call: 'status' });
}

const deletion = (message: string): Action => ({
  do: 'deleteUnstarted',
  event: { type: 'Warning', reason: 'WarmStartFailed', message },
});

/** After the start of its VM, a machine joins like a new machine, with a new creation timeout. */
function planStart(o: MachineObservation, power: Power, now: Date): Plan | undefined {
  const { running, last } = o.calls;
  const phase = phaseOf(o.machine);
  if (power.is !== 'Starting') {
    if (running) return wait('the VM of the warm machine is being stopped');
    if (phase === 'Pending')
      return act('a MachineSet uses the warm machine', annotatePower(powerText('Starting', now)));
    return act('a MachineSet uses the warm machine', { do: 'writeStatus', status: pending(o, now) });
  }
  if (phase === 'Running') return act('the Node of the machine is Ready again', annotatePower(null));
  if (phase !== 'Pending') return undefined;
  const corrected = recordAgain(power, now);
  if (corrected) return corrected;
  if (running) return wait('the cloud is starting the VM of the machine', joinDeadline(o.machine, o.settings));
  if (!isCurrent(last, 'start', power)) return act('starting its VM', { do: 'call', call: 'start' });
  return last.outcome.ok ? undefined : planAgain(o, last, 'Starting the VM of the warm machine failed', now);
}

function pending(o: MachineObservation, now: Date): MachineStatus {
  const operation: Operation = { description: WarmTexts.starting, state: 'Processing', type: 'Create' };
  return withPhase(o.machine.status, { phase: 'Pending', timeoutActive: true }, operation, now);
}

/**
 * mcm repeats a failed stop, because a running VM costs money. If the error may be temporary, mcm repeats a failed
 * start until the creation timeout. After a permanent error, mcm deletes the machine, and its MachineSet creates a new
 * machine.
 */
function planAgain(o: MachineObservation, last: SettledCall, what: string, now: Date): Plan | undefined {
  if (last.outcome.ok) return undefined;
  const { error } = last.outcome;
  const isStart = last.kind === 'start';
  const deadline = isStart ? joinDeadline(o.machine, o.settings) : undefined;
  if (deadline && now > deadline) return undefined;
  const description = `${what}: ${printMachineError(error)}`;
  if (error.code === 'NotFound' || (isStart && !isTransient(error.code))) {
    return { actions: [deletion(description)], next: { kind: 'wait' }, because: description };
  }
  const operation: Operation = { description, errorCode: error.code, state: 'Failed', type: 'Create' };
  const status = withOperation(o.machine.status, operation, last.at);
  const isKnown = o.machine.status?.lastOperation?.state === 'Failed' && isSimilarStatus(o.machine.status, status);
  if (!isKnown) return act(description, { do: 'writeStatus', status });
  const retryAt = new Date(last.at.getTime() + retryAfter(CALL_RETRIES[last.kind][error.code], error, last.failures));
  if (now < retryAt && last.inputs === o.inputs) return wait(description, retryAt, deadline);
  return act('try again', { do: 'call', call: last.kind });
}
