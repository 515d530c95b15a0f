import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';

/** What is wrong around a process that nevertheless continues. */
export type WarningKind =
  | 'api-server'
  | 'certificate'
  | 'clock-skew'
  | 'crd'
  | 'credentials'
  | 'forbidden'
  | 'memory'
  | 'version';

/** A warning that holds now. */
export interface Warning {
  readonly kind: WarningKind;
  /** What it is about, as a label of a metric: few values, no names of objects. */
  readonly subject: string;
  /** What is wrong, what follows from it, and the cure. */
  readonly sentence: string;
}

/**
 * What is wrong around a process, told once each: a line of the log when it begins, when it becomes another, and when it
 * is over; a series of `runtime_warning` in between.
 */
export class Warnings {
  readonly #log: Logger;
  readonly #active = new Map<string, Warning>();

  constructor(log: Logger, meters: Meters) {
    this.#log = log;
    meters.observed(
      {
        name: 'runtime_warning',
        help: '1 for each thing that is wrong around the process; the log says what and how to mend it',
        labels: ['kind', 'subject'],
      },
      () => [...this.#active.values()].map(({ kind, subject }) => ({ labels: { kind, subject }, value: 1 })),
    );
  }

  /** Says it, unless these very words were said already. */
  raise(kind: WarningKind, subject: string, sentence: string): void {
    const key = `${kind} ${subject}`;
    if (this.#active.get(key)?.sentence === sentence) return;
    this.#active.set(key, { kind, subject, sentence });
    this.#log.warn(sentence, { warning: kind, subject });
  }

  /** It is over; nothing when it never began. */
  clear(kind: WarningKind, subject: string): void {
    const key = `${kind} ${subject}`;
    const warning = this.#active.get(key);
    if (warning === undefined) return;
    this.#active.delete(key);
    this.#log.info('Warning resolved', { warning: kind, subject, was: warning.sentence });
  }

  /** Whether a warning of a kind, and of a subject where one is given, holds. */
  has(kind: WarningKind, subject?: string): boolean {
    if (subject !== undefined) return this.#active.has(`${kind} ${subject}`);
    return [...this.#active.values()].some((warning) => warning.kind === kind);
  }

  /** For a list of checks: `ok`, or what is wrong by kind and subject. */
  summary(): string {
    const wrong = this.list().map(({ kind, subject }) => `${kind} (${subject})`);
    return wrong.length === 0 ? 'ok' : `warnings, see the log: ${wrong.join(', ')}`;
  }

  /** All that hold now. */
  list(): readonly Warning[] {
    return [...this.#active.values()];
  }
}
