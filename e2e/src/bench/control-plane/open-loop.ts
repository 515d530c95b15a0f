import { percentile } from '../machines/figure.ts';
import type { Latencies } from './load.ts';
import type { LoadConnection, LoadRequest } from './load-connection.ts';

interface Due {
  readonly kind: string;
  readonly request: LoadRequest;
  readonly expected: number;
  readonly dueAt: number;
  readonly done: (text: string) => void;
}

export const latenciesOf = (times: readonly number[]): Latencies => ({
  count: times.length,
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  p999: percentile(times, 0.999),
  max: percentile(times, 1),
});

/** Sends each request at its planned time, even if the server is slow. */
export class OpenLoop {
  readonly #free: LoadConnection[];
  readonly #waiting: Due[] = [];
  #next = 0;
  #open = 0;
  #idle: (() => void) | undefined;
  #failure: Error | undefined;
  readonly times = new Map<string, number[]>();

  constructor(connections: readonly LoadConnection[]) {
    this.#free = [...connections];
  }

  submit(kind: string, request: LoadRequest, expected: number, dueAt: number, done: (text: string) => void): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#waiting.push({ kind, request, expected, dueAt, done });
    this.#pump();
  }

  async drained(): Promise<void> {
    if (this.#open > 0 || this.#next < this.#waiting.length)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    if (this.#failure !== undefined) throw this.#failure;
  }

  forget(): void {
    this.times.clear();
  }

  #pump(): void {
    while (this.#next < this.#waiting.length) {
      // The oldest free connection is next, because the server closes a connection that is idle for two minutes.
      const connection = this.#free.shift();
      if (connection === undefined) return;
      const due = this.#waiting[this.#next++];
      if (due !== undefined) void this.#send(connection, due);
    }
    this.#waiting.length = 0;
    this.#next = 0;
    if (this.#open === 0) this.#idle?.();
  }

  async #send(connection: LoadConnection, due: Due): Promise<void> {
    this.#open++;
    try {
      const status = await connection.send(due.request);
      const { method, path } = due.request;
      if (status !== due.expected) throw new Error(`${method} ${path}: status ${status}: ${connection.text}`);
      const times = this.times.get(due.kind) ?? [];
      times.push(performance.now() - due.dueAt);
      this.times.set(due.kind, times);
      const { text } = connection;
      this.#free.push(connection);
      due.done(text);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      this.#waiting.length = 0;
      this.#next = 0;
    } finally {
      this.#open--;
      this.#pump();
    }
  }
}
