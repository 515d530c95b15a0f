import type { EventReason, MachineClass } from '@mcm/api';
import { type EventRecorder, type Key, keyOf } from '@mcm/kube';
import type { ClassTrouble, ObserveClass } from '../driver/invoker/invoker-api.ts';

/** A connection breaks now and then: only what fails again is told. */
const FAILURES_TOLD_FROM: Readonly<Record<ClassTrouble['reason'], number>> = {
  CredentialsRefused: 1,
  CloudRefuses: 1,
  CloudUnreachable: 2,
};

interface Failing {
  readonly reason: ClassTrouble['reason'];
  readonly failures: number;
}

/**
 * Tells on a MachineClass what its cloud has against it: one event when it begins, however many machines meet it, and one
 * when the calls that failed work again. Lost with the process: a lasting trouble is told again after a restart.
 */
export class ClassTroubles {
  readonly #recorder: EventRecorder<EventReason>;
  /** By class, what each kind of call fails with. */
  readonly #failing = new Map<Key, Map<string, Failing>>();
  readonly #told = new Map<Key, Set<ClassTrouble['reason']>>();

  constructor(recorder: EventRecorder<EventReason>) {
    this.#recorder = recorder;
  }

  readonly observe: ObserveClass = (machineClass, call, trouble) => {
    const key = keyOf(machineClass);
    if (trouble) return this.#failed(key, machineClass, call, trouble);
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

  #failed(key: Key, machineClass: MachineClass, call: string, { reason, message }: ClassTrouble): void {
    const failing = this.#failing.get(key) ?? new Map<string, Failing>();
    this.#failing.set(key, failing);
    const before = failing.get(call);
    const failures = before?.reason === reason ? before.failures + 1 : 1;
    failing.set(call, { reason, failures });
    const told = this.#told.get(key) ?? new Set();
    if (failures < FAILURES_TOLD_FROM[reason] || told.has(reason)) return;
    this.#told.set(key, told.add(reason));
    this.#recorder.event(machineClass, 'Warning', reason, message);
  }
}
