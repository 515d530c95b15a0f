import type { Machine } from '@mcm/api';
import type { Clock, Logger } from '@mcm/kube';
import { MachineError } from '../../driver/contract/errors.ts';
import type { OnOverdue, OnWaiting } from '../../driver/invoker/api/invoker-api.ts';
import { Lane } from '../../flow/lane.ts';
import type { CallKind, CallMemory, CallOutcome } from '../model/observation.ts';

export type CallResult = Extract<CallOutcome, { ok: true }>;

interface CallObserver {
  began(machine: Machine, kind: CallKind, inputs: string): void;
  ended(machine: Machine, kind: CallKind, inputs: string, outcome: CallOutcome): void;
}

export interface CallsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly wake: (machine: Machine) => void;
  /** Creations and deletions have separate limits, so that creations do not delay deletions. */
  readonly limit?: number;
  readonly observer?: CallObserver;
  readonly traceIdOf?: ((uid: string) => string) | undefined;
  readonly onFault?: (machine: Machine, kind: CallKind, error: MachineError) => void;
}

const DEFAULT_LIMIT = 500;

/**
 * The number of consecutive unexpected errors after which mcm reports a bug of the driver, because a single error may
 * be temporary.
 */
export const FAULT_AFTER_FAILURES = 5;

const JUMP_MS = 2_000;

const NOTHING: CallMemory = {};

/**
 * Runs the driver calls of machines. The end of a driver call starts the next reconcile of its machine.
 * - A machine has at most one running driver call, so `create` and `delete` of one machine never overlap.
 * - A driver call that ignores its abort signal blocks only its own machine, and no longer counts toward the limit.
 */
export class DriverCalls {
  readonly #options: CallsOptions;
  readonly #memory = new Map<string, CallMemory>();
  readonly #making: Lane;
  readonly #deleting: Lane;
  readonly #forgotten = new Set<string>();
  readonly #settledAt = new Map<string, number>();

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#making = new Lane(options.limit ?? DEFAULT_LIMIT);
    this.#deleting = new Lane(options.limit ?? DEFAULT_LIMIT);
  }

  of(uid: string): CallMemory {
    const memory = this.#memory.get(uid) ?? NOTHING;
    const settledAt = this.#settledAt.get(uid);
    if (!memory.last || settledAt === undefined) return memory;
    const { clock } = this.#options;
    const at = new Date(clock.now().getTime() - (clock.monotonic() - settledAt));
    if (Math.abs(at.getTime() - memory.last.at.getTime()) < JUMP_MS) return memory;
    // After a change of the system clock, mcm corrects the time of the last driver call, so that the remaining wait
    // does not change.
    const rebased = { ...memory, last: { ...memory.last, at } };
    this.#memory.set(uid, rebased);
    return rebased;
  }

  get running(): number {
    let count = 0;
    for (const { running } of this.#memory.values()) if (running) count++;
    return count;
  }

  /** @throws Error if a driver call of the machine is already running */
  start(
    machine: Machine,
    kind: CallKind,
    inputs: string,
    work: (onOverdue: OnOverdue, onWaiting: OnWaiting) => Promise<CallResult>,
  ): void {
    const { uid, name } = machine.metadata;
    const memory = this.of(uid);
    if (memory.running)
      throw new Error(
        `machine ${name}: the driver call ${kind} was requested while the call ${memory.running.kind} is in progress`,
      );
    this.#forgotten.delete(uid);
    this.#memory.set(uid, { ...memory, running: { kind, since: this.#options.clock.now() } });
    this.#options.observer?.began(machine, kind, inputs);
    const lane = kind === 'delete' ? this.#deleting : this.#making;
    void lane
      .run((leave) =>
        work(
          (error) => {
            leave();
            this.#overstay(machine, kind, inputs, error);
          },
          (what) => this.#wait(machine, what),
        ),
      )
      .catch((thrown: unknown): CallOutcome => ({ ok: false, error: MachineError.from(thrown) }))
      .then((outcome) => this.#settle(machine, kind, inputs, outcome));
  }

  #wait(machine: Machine, waitsFor: string): void {
    const { uid } = machine.metadata;
    const memory = this.of(uid);
    if (!memory.running || memory.running.waitsFor === waitsFor || this.#forgotten.has(uid)) return;
    this.#memory.set(uid, { ...memory, running: { ...memory.running, waitsFor } });
    this.#options.wake(machine);
  }

  #overstay(machine: Machine, kind: CallKind, inputs: string, error: MachineError): void {
    const { uid, name, namespace = '' } = machine.metadata;
    const memory = this.of(uid);
    if (!memory.running) return;
    const overdue = {
      kind,
      at: this.#options.clock.now(),
      outcome: { ok: false, error },
      failures: 1,
      inputs,
    } as const;
    this.#memory.set(uid, { ...memory, running: { ...memory.running, overdue } });
    this.#options.observer?.ended(machine, kind, inputs, overdue.outcome);
    const trace_id = this.#options.traceIdOf?.(uid);
    const fields = { machine: `${namespace}/${name}`, call: kind, error: error.message, trace_id };
    this.#options.log.warn('Driver call ignores its abort signal; the machine waits for the end of the call', fields);
    this.#options.wake(machine);
  }

  /**
   * Removes the record of a machine's driver calls. After `forget`, the result of a running driver call has no effect.
   */
  forget(uid: string): void {
    this.#settledAt.delete(uid);
    if (this.of(uid).running) this.#forgotten.add(uid);
    else this.#memory.delete(uid);
  }

  /**
   * After a restore of the API server, all machines may have changed, so mcm removes the records of all driver calls.
   */
  startOver(): void {
    for (const uid of [...this.#memory.keys()]) this.forget(uid);
  }

  #settle(machine: Machine, kind: CallKind, inputs: string, outcome: CallOutcome): void {
    const { uid, name, namespace = '' } = machine.metadata;
    this.#options.observer?.ended(machine, kind, inputs, outcome);
    if (this.#forgotten.delete(uid)) {
      this.#memory.delete(uid);
      // After a restore from a backup, the machine may exist again and wait for the end of the driver call.
      this.#options.wake(machine);
      return;
    }
    const { last, created, createSent } = this.of(uid);
    const sent = createSent || (kind === 'create' && (outcome.ok || !outcome.error.unsent));
    const before = last?.kind === kind && !last.outcome.ok ? last.failures : 0;
    const failures = outcome.ok ? 0 : before + 1;
    const made = kind === 'create' && outcome.ok ? outcome.instance : created;
    const settled = { kind, at: this.#options.clock.now(), outcome, failures, inputs };
    this.#settledAt.set(uid, this.#options.clock.monotonic());
    this.#memory.set(uid, { last: settled, created: made, createSent: sent ? true : undefined });
    const trace_id = this.#options.traceIdOf?.(uid);
    this.#log({ machine: `${namespace}/${name}`, call: kind, trace_id }, outcome, failures);
    if (!outcome.ok && outcome.error.unexpected && failures === FAULT_AFTER_FAILURES)
      this.#options.onFault?.(machine, kind, outcome.error);
    this.#options.wake(machine);
  }

  #log(
    about: { machine: string; call: CallKind; trace_id: string | undefined },
    outcome: CallOutcome,
    failures: number,
  ): void {
    const { log } = this.#options;
    if (outcome.ok) {
      log.debug('Driver call ended', about);
      return;
    }
    const fields = { ...about, code: outcome.error.code, error: outcome.error.message, failures };
    const answers = about.call === 'status' && outcome.error.code === 'NotFound';
    if (failures === 1 && !answers) log.warn('Driver call failed', fields);
    else log.debug('Driver call still fails', fields);
  }
}
