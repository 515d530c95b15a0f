import { Annotations, Finalizers } from '@mcm/api';
import { isOver, timesOf } from '../../interruption/deadlines.ts';
import { type Interruption, interruptionOf, printInterruption, sentenceOf } from '../../interruption/notice.ts';
import { isNodeOf } from '../../node/instance.ts';
import { isHealthy } from '../../settings/conditions.ts';
import { millis } from '../../values/timestamps.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, nextAt, type Plan } from '../model/plan.ts';

/**
 * Copies an interruption from the Node, where an agent wrote it, to the Machine. The drain must end before the VM ends,
 * so mcm also copies the interruption during a deletion.
 */
export function planNodeNotice({ machine, node, interruptions }: MachineObservation, now: Date): Plan | undefined {
  if (!interruptions || !node || !isNodeOf(machine, node)) return undefined;
  const reported = interruptionOf(node);
  if (!reported || isOver(reported, now)) return undefined;
  if (reported.noticedAt.getTime() < millis(machine.metadata.creationTimestamp)) return undefined;
  const known = interruptionOf(machine);
  if (known && known.deadline <= reported.deadline) return undefined;
  return act('the Node of the machine reports an interruption', {
    do: 'recordInterruption',
    annotation: printInterruption(reported),
    event: { type: 'Warning', reason: 'Interrupted', message: sentenceOf(reported) },
  });
}

/**
 * Deletes an interrupted machine, so that its MachineSet creates the replacement. The drain of an interrupted machine
 * starts only when the replacement is Running. mcm collects evidence before the deletion of an interrupted machine,
 * because the VM ends soon.
 */
export function planInterruption(o: MachineObservation, now: Date): Plan | undefined {
  const { machine } = o;
  const interruption = o.interruptions ? interruptionOf(machine) : undefined;
  // Without the finalizer, the Machine would disappear immediately and leave an orphaned VM.
  if (!interruption || !machine.metadata.finalizers?.includes(Finalizers.MachineControllerManager)) return undefined;
  if (isOver(interruption, now) && isRunning(o)) {
    const message = `The VM still runs after the deadline of its interruption at ${interruption.deadline.toISOString()}`;
    return act(
      'the VM still runs after the interruption',
      { do: 'annotate', annotations: { [Annotations.Interruption]: null } },
      { do: 'say', event: { type: 'Normal', reason: 'InterruptionPassed', message } },
    );
  }
  const evidence: Action[] =
    o.keepsEvidence && machine.spec.providerID && o.evidence?.failure !== evidenceId(interruption)
      ? [
          {
            do: 'keepEvidence',
            failure: { id: evidenceId(interruption), reason: sentenceOf(interruption), at: interruption.noticedAt },
          },
        ]
      : [];
  return {
    actions: [...evidence, { do: 'deleteInterrupted' }],
    next: { kind: 'wait' },
    because: 'the cloud interrupts the VM of the machine',
  };
}

const evidenceId = ({ id }: Interruption): string => `interruption ${id}`;

const isRunning = ({ machine, node, settings }: MachineObservation): boolean =>
  machine.status?.currentStatus?.phase === 'Running' &&
  node !== undefined &&
  isHealthy(node.status?.conditions ?? [], settings.unhealthyConditionTypes);

/** Delays the drain of an interrupted machine until its replacement is Running, if the notice leaves enough time. */
export function planSuccessor(o: MachineObservation, now: Date): Plan | undefined {
  const interruption = o.interruptions ? interruptionOf(o.machine) : undefined;
  if (!interruption || o.successor !== 'awaited') return undefined;
  const { drainAt } = timesOf(interruption, o.settings.drainTimeoutMs);
  if (now >= drainAt) return undefined;
  return {
    actions: [],
    next: nextAt(drainAt),
    because: 'the replacement does not run yet, and the deadline has not passed',
  };
}
