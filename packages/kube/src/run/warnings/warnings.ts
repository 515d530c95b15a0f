import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';

/** The kind of a warning: a problem of the environment that does not end the process. */
export type WarningKind =
  | 'api-server'
  | 'certificate'
  | 'clock-skew'
  | 'crd'
  | 'credentials'
  | 'forbidden'
  | 'memory'
  | 'version';

export interface Warning {
  readonly kind: WarningKind;
  /** The subject of a warning is a metric label, so it contains no object names. */
  readonly subject: string;
  readonly sentence: string;
}

/**
 * Reports problems of the environment. The log contains a line when a warning starts, changes or ends. Each active
 * warning is a time series of the metric `runtime_warning`.
 */
export class Warnings {
  readonly #log: Logger;
  readonly #active = new Map<string, Warning>();

  constructor(log: Logger, meters: Meters) {
    this.#log = log;
    meters.observed(
      {
        name: 'runtime_warning',
        help: '1 for each problem in the environment of the process. The log contains the details and a hint',
        labels: ['kind', 'subject'],
      },
      () => [...this.#active.values()].map(({ kind, subject }) => ({ labels: { kind, subject }, value: 1 })),
    );
  }

  /** Logs nothing if the warning is already active with an equal sentence. */
  raise(kind: WarningKind, subject: string, sentence: string): void {
    const key = `${kind} ${subject}`;
    if (this.#active.get(key)?.sentence === sentence) return;
    this.#active.set(key, { kind, subject, sentence });
    this.#log.warn(sentence, { warning: kind, subject });
  }

  clear(kind: WarningKind, subject: string): void {
    const key = `${kind} ${subject}`;
    const warning = this.#active.get(key);
    if (warning === undefined) return;
    this.#active.delete(key);
    this.#log.info('Warning resolved', { warning: kind, subject, was: warning.sentence });
  }

  has(kind: WarningKind, subject?: string): boolean {
    if (subject !== undefined) return this.#active.has(`${kind} ${subject}`);
    return [...this.#active.values()].some((warning) => warning.kind === kind);
  }

  /** Returns `ok`, or a list of the active warnings. */
  summary(): string {
    const wrong = this.list().map(({ kind, subject }) => `${kind} (${subject})`);
    return wrong.length === 0 ? 'ok' : `warnings (details in the log): ${wrong.join(', ')}`;
  }

  list(): readonly Warning[] {
    return [...this.#active.values()];
  }
}
