import type { EventReason, MachineClass } from '@mcm/api';
import { type EventRecorder, type Key, keyOf } from '@mcm/kube';
import type { ClassProblem, ObserveClass } from '../driver/invoker/api/invoker-api.ts';

/** A connection breaks now and then: only what fails again is told. */
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
 * Tells on a MachineClass what its cloud has against it: one event when it begins, however many machines meet it, and one
 * when the calls that failed work again. Lost with the process: a lasting trouble is told again after a restart.
 */
export class ClassProblems {
  readonly #recorder: EventRecorder<EventReason>;
  /** By class, what each kind of call fails with. */
  readonly #failing = new Map<Key, Map<string, Failing>>();
  readonly #told = new Map<Key, Set<ClassProblem['reason']>>();

  constructor(recorder: EventRecorder<EventReason>) {
    this.#recorder = recorder;
  }

  readonly observe: ObserveClass = (machineClass, call, problem) => {
    const key = keyOf(machineClass);
    if (problem) return this.#failed(key, machineClass, call, problem);
    const failing = this.#failing.get(key);
    if (!failing?.delete(call) || failing.size > 0) return;
    this.#failing.delete(key);
    if (this.#told.delete(key))
      this.#recorder.event(machineClass, 'Normal', 'CloudAnswers', 'The cloud takes calls for this class again');
  };

  /** The class is gone. */
  forget(key: Key): void {
    this.#failing.delete(key);
    this.#told.delete(key);
  }

  #failed(key: Key, machineClass: MachineClass, call: string, { reason, message }: ClassProblem): void {
    const failing = this.#failing.get(key) ?? new Map<string, Failing>();
    this.#failing.set(key, failing);
    const before = failing.get(call);
    const failures = before?.reason === reason ? before.failures + 1 : 1;
    failing.set(call, { reason, failures });
    const told = this.#told.get(key) ?? new Set();
    if (failures < REPORTED_FROM_FAILURES[reason] || told.has(reason)) return;
    this.#told.set(key, told.add(reason));
    this.#recorder.event(machineClass, 'Warning', reason, message);
  }
}
