import { errorText } from '../base/error-text.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import type { Phase, PhaseState, PhaseStatus, Stop } from './process/phase.ts';

/** Options of a manager. */
export interface ManagerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly phases: readonly Phase[];
  /** Time limit for stopping all phases, in milliseconds (default: 8000). */
  readonly stopLimitMs?: number;
}

/** Starts phases in order, and stops the phases in reverse order. */
export interface Manager {
  /** Starts the phases; the caller must call `start` only once. */
  start(): Promise<void>;
  /** Stops the started phases, and never rejects; callers may call `stop` more than once. */
  stop(reason: string): Promise<void>;
  status(): readonly PhaseStatus[];
}

const DEFAULT_STOP_LIMIT_MS = 8000;

interface Entry {
  readonly phase: Phase;
  state: PhaseState;
  detail: string;
  stop: Stop | undefined;
}

class PhaseManager implements Manager {
  readonly #options: ManagerOptions;
  readonly #entries: readonly Entry[];
  readonly #abort = new AbortController();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#entries = options.phases.map((phase) => ({ phase, state: 'waiting', detail: '', stop: undefined }));
  }

  start(): Promise<void> {
    if (this.#starting !== undefined) throw new Error('a manager can be started only once');
    this.#starting = this.#startAll();
    return this.#starting;
  }

  stop(reason: string): Promise<void> {
    this.#stopping ??= this.#stopAll(reason);
    return this.#stopping;
  }

  status(): readonly PhaseStatus[] {
    return this.#entries.map(({ phase, state, detail }) => ({ name: phase.name, state, detail }));
  }

  async #startAll(): Promise<void> {
    for (const entry of this.#entries) {
      this.#abort.signal.throwIfAborted();
      entry.state = 'starting';
      const begun = this.#options.clock.monotonic();
      try {
        const report = (detail: string): void => {
          entry.detail = detail;
        };
        entry.stop = await entry.phase.start(this.#abort.signal, report);
        entry.state = 'started';
        entry.detail = '';
      } catch (error) {
        entry.state = 'failed';
        entry.detail = errorText(error);
        throw error;
      }
      this.#options.log.info('phase started', { phase: entry.phase.name, ms: this.#options.clock.monotonic() - begun });
    }
  }

  async #stopAll(reason: string): Promise<void> {
    const { clock, log } = this.#options;
    log.info('stopping', { reason });
    this.#abort.abort(new Error(reason));
    const limit = new AbortController();
    const limitMs = this.#options.stopLimitMs ?? DEFAULT_STOP_LIMIT_MS;
    const late = pause(clock, limitMs, limit.signal).then(() => 'late' as const);
    const stopped = await Promise.race([this.#stopInTurn(), late]);
    limit.abort();
    if (stopped !== 'late') return;
    const left = this.#entries.filter((entry) => entry.stop !== undefined).map((entry) => entry.phase.name);
    log.warn('Stop timeout expired', { limitMs, left });
  }

  async #stopInTurn(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    for (const entry of this.#entries.toReversed()) {
      try {
        await entry.stop?.();
      } catch (error) {
        this.#options.log.warn('A part of the process did not stop correctly', {
          phase: entry.phase.name,
          error: errorText(error),
        });
      }
      entry.stop = undefined;
      if (entry.state === 'started') entry.state = 'stopped';
    }
  }
}

/** Creates a manager of phases. */
export const createManager = (options: ManagerOptions): Manager => new PhaseManager(options);
