import type { EventReason, MachineClass } from '@mcm/api';
import { type EventRecorder, type Key, keyOf } from '@mcm/kube';
import type { ClassProblem, ObserveClass } from '../driver/invoker/api/invoker-api.ts';

/** For each reason of a problem, the number of consecutive failures after which mcm sends an event about the class. */
const REPORTED_FROM_FAILURES: Readonly<Record<ClassProblem['reason'], number>> = {
  CredentialsRefused: 1,
  CloudRefuses: 1,
  CloudUnreachable: 2,
};

interface Failing {
  readonly reason: ClassProblem['reason'];
  readonly failures: number;
}

/**
 * For each problem of a class, mcm sends one event at its start and one event at its end. The number of affected
 * machines does not change the number of events.
 */
export class ClassProblems {
  readonly #recorder: EventRecorder<EventReason>;
  readonly #failing = new Map<Key, Map<string, Failing>>();
  readonly #reported = new Map<Key, Set<ClassProblem['reason']>>();

  constructor(recorder: EventRecorder<EventReason>) {
    this.#recorder = recorder;
  }

  readonly observe: ObserveClass = (machineClass, call, problem) => {
    const key = keyOf(machineClass);
    if (problem) return this.#failed(key, machineClass, call, problem);
    const failing = this.#failing.get(key);
    if (!failing?.delete(call) || failing.size > 0) return;
    this.#failing.delete(key);
    if (this.#reported.delete(key))
      this.#recorder.event(machineClass, 'Normal', 'CloudAnswers', 'The cloud accepts calls for the class again');
  };

  forget(key: Key): void {
    this.#failing.delete(key);
    this.#reported.delete(key);
  }

  #failed(key: Key, machineClass: MachineClass, call: string, { reason, message }: ClassProblem): void {
    const failing = this.#failing.get(key) ?? new Map<string, Failing>();
    this.#failing.set(key, failing);
    const before = failing.get(call);
    const failures = before?.reason === reason ? before.failures + 1 : 1;
    failing.set(call, { reason, failures });
    const reported = this.#reported.get(key) ?? new Set();
    if (failures < REPORTED_FROM_FAILURES[reason] || reported.has(reason)) return;
    this.#reported.set(key, reported.add(reason));
    this.#recorder.event(machineClass, 'Warning', reason, message);
  }
}
