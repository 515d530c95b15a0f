import { Annotations, type EventReason, type Machine, type MachineClass, machines } from '@mcm/api';
import {
  backoffMs,
  type Clock,
  createOutageLog,
  type EventRecorder,
  errorText,
  ignoreNotFound,
  type KubeClient,
  type Logger,
  pause,
  type Random,
} from '@mcm/kube';
import { type Caches, UNRECORDED } from '../cluster/caches.ts';
import type { InterruptionNotice, NoticeAnswer } from '../driver/contract/driver.ts';
import { MachineError } from '../driver/contract/errors.ts';
import type { DriverInvoker } from '../driver/invoker/api/invoker-api.ts';
import { instanceKey, isInstance } from '../node/instance.ts';
import { type Interruption, interruptionOf, printInterruption, sentenceOf } from './notice.ts';
import { decideNotice } from './notice-decision.ts';

/** The label of the metric `mcm_interruption_notices_total`: the result of processing a notice. */
export type NoticeOutcome = 'recorded' | 'reported' | 'unknown' | 'duplicate' | 'stale' | 'invalid' | 'later';

export type ObserveNotice = (kind: string, outcome: NoticeOutcome) => void;

export interface WatcherOptions {
  readonly caches: Caches;
  readonly invoker: Pick<DriverInvoker, 'can' | 'status' | 'watchInterruptions' | 'interruptionSourceOf'>;
  readonly control: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  readonly observe: ObserveNotice;
}

const RETRY = { baseMs: 1_000, maxMs: 60_000, jitter: 0.5 } as const;

const SHORTEST_WAIT_MS = 1_000;

/**
 * Receives interruption notices and records them on Machines. The driver removes a recorded notice from the queue of
 * the cloud.
 */
export class InterruptionWatcher {
  readonly #options: WatcherOptions;
  readonly #running = new Map<string, AbortController>();

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { caches, invoker } = this.#options;
    if (!invoker.can.interruptions || signal.aborted) return;
    const loops = new Set<Promise<void>>();
    const follow = (): void => {
      const sources = this.#sources();
      for (const [source, end] of this.#running) if (!sources.has(source)) end.abort();
      for (const source of sources.keys()) {
        if (this.#running.has(source)) continue;
        const loop = this.#follow(source, signal).finally(() => {
          loops.delete(loop);
          if (!signal.aborted) follow();
        });
        loops.add(loop);
      }
    };
    const stop = caches.classes.onChange(follow);
    follow();
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    stop();
    for (const end of this.#running.values()) end.abort();
    await Promise.all(loops);
  }

  #sources(): ReadonlyMap<string, MachineClass> {
    const { caches, invoker } = this.#options;
    const found = new Map<string, MachineClass>();
    const byName = caches.classes.store.list().toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    for (const machineClass of byName) {
      const source = invoker.interruptionSourceOf(machineClass);
      if (source !== undefined && !found.has(source)) found.set(source, machineClass);
    }
    return found;
  }

  async #follow(source: string, stop: AbortSignal): Promise<void> {
    const { clock, invoker, log, random } = this.#options;
    const end = new AbortController();
    this.#running.set(source, end);
    const signal = AbortSignal.any([stop, end.signal]);
    const outages = createOutageLog(`Watch of ${source} for interruptions`, clock, log);
    try {
      while (!signal.aborted) {
        const machineClass = this.#sources().get(source);
        if (!machineClass) return;
        const since = clock.monotonic();
        try {
          await invoker.watchInterruptions(machineClass, (notice) => this.notify(notice));
          outages.worked();
          await pause(clock, Math.max(SHORTEST_WAIT_MS - (clock.monotonic() - since), 0), signal);
        } catch (error) {
          if (signal.aborted) return;
          outages.failed(error);
          await pause(clock, backoffMs(RETRY, outages.failures, random), signal);
        }
      }
    } finally {
      this.#running.delete(source);
    }
  }

  /** After an error, the notice stays in the queue of the cloud. */
  async notify(notice: InterruptionNotice): Promise<NoticeAnswer> {
    const { log, observe } = this.#options;
    const outcome = await this.#handle(notice).catch((error: unknown): NoticeOutcome => {
      log.warn('Cannot write the notice of an interruption to the machine; retrying', {
        vm: notice.providerId,
        error: errorText(error),
      });
      return 'later';
    });
    observe(notice.kind, outcome);
    log.debug('Received a notice of an interruption', { vm: notice.providerId, kind: notice.kind, outcome });
    return outcome === 'later' ? 'later' : 'done';
  }

  async #handle(notice: InterruptionNotice): Promise<NoticeOutcome> {
    const { caches, clock, recorder } = this.#options;
    const machine = this.#machineOf(notice.providerId);
    const unrecorded = caches.machines.store.byIndex('unrecorded', UNRECORDED).length > 0;
    const verdict = decideNotice(notice, machine, clock.now(), unrecorded);
    if (verdict.do === 'wait') return 'later';
    if (verdict.do === 'drop') return verdict.because;
    if (!machine) return 'unknown';
    if (verdict.do === 'report') {
      const message = `The cloud reports ${notice.kind} for the VM: ${notice.detail.slice(0, 200)}`;
      recorder.event(machine, 'Normal', 'InterruptionReported', message, { once: true });
      return 'reported';
    }
    if (verdict.do === 'confirm' && !(await this.#hasEnded(machine))) return 'stale';
    const { interruption } = verdict;
    return this.#record(machine, verdict.do === 'confirm' ? { ...interruption, kind: 'Ended' } : interruption);
  }

  #machineOf(providerId: string): Machine | undefined {
    const { store } = this.#options.caches.machines;
    return store
      .byIndex('instance', instanceKey(providerId))
      .find(({ spec }) => isInstance(spec.providerID, providerId));
  }

  /** A notice may be outdated or forged, so the cloud must confirm that the VM has ended. */
  async #hasEnded(machine: Machine): Promise<boolean> {
    const { invoker } = this.#options;
    if (!invoker.can.status) return false;
    try {
      return (await invoker.status(machine)).ending !== undefined;
    } catch (thrown) {
      const error = MachineError.from(thrown);
      if (error.code === 'NotFound') return true;
      throw error;
    }
  }

  async #record(machine: Machine, interruption: Interruption): Promise<NoticeOutcome> {
    const { caches, control, log, recorder } = this.#options;
    const { name, namespace, uid } = machine.metadata;
    const annotations = { [Annotations.Interruption]: printInterruption(interruption) };
    const body = { metadata: { uid, annotations } };
    const written = await ignoreNotFound(control.resource(machines, namespace).patch(name, { type: 'merge', body }));
    if (!written) return 'unknown';
    caches.machines.recordWrite(written);
    log.info('Cloud interrupts the VM of a machine', {
      machine: name,
      kind: interruption.kind,
      deadline: interruption.deadline.toISOString(),
      noticed: interruptionOf(written)?.noticedAt.toISOString(),
    });
    recorder.event(written, 'Warning', 'Interrupted', sentenceOf(interruption));
    return 'recorded';
  }
}
