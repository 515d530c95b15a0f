import type { Clock } from '@mcm/kube';

export interface WaitOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  notify(id: string): void {
    for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
  }

  /** Resolves when `reached` returns true, when the time expires, or when the client disconnects. */
  until(id: string, reached: () => boolean, { clock, timeoutMs, signal }: WaitOptions): Promise<void> {
    return new Promise((resolve) => {
      if (reached() || signal.aborted || timeoutMs <= 0) return resolve();
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        this.#remove(id, wake);
        resolve();
      };
      const wake = (): void => {
        if (reached()) finish();
      };
      const timer = clock.setTimeout(finish, timeoutMs);
      signal.addEventListener('abort', finish, { once: true });
      this.#add(id, wake);
    });
  }

  #add(id: string, wake: () => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting) waiting.add(wake);
    else this.#waiting.set(id, new Set([wake]));
  }

  #remove(id: string, wake: () => void): void {
    const waiting = this.#waiting.get(id);
    waiting?.delete(wake);
    if (waiting?.size === 0) this.#waiting.delete(id);
  }
}
