import type { Transport } from '@mcm/kube';

/** When a process dies, counted in its own requests: before the n-th leaves, or after its effect and before its answer. */
export interface Death {
  readonly request: number;
  readonly when: 'before' | 'after';
}

/** Never settles: what a process that was killed sees of the world. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);

/**
 * One life of a simulated process: all its requests go through it, so that it can be killed between any two instants at
 * which the world could notice. After its death nothing leaves it and nothing reaches it, as after SIGKILL.
 */
export class Life {
  #requests = 0;
  #dead = false;
  readonly #death: Death | undefined;
  readonly #onDeath: () => void;

  constructor(death: Death | undefined, onDeath: () => void) {
    this.#death = death;
    this.#onDeath = onDeath;
  }

  /** Requests sent so far, watches left out. */
  get requests(): number {
    return this.#requests;
  }

  get dead(): boolean {
    return this.#dead;
  }

  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath();
  }

  /** A transport of this life. */
  wrap(transport: Transport): Transport {
    return async (request) => {
      if (this.#dead) return never();
      if (isWatch(request.path)) return transport(request);
      this.#requests += 1;
      const mine = this.#death?.request === this.#requests;
      if (mine && this.#death?.when === 'before') {
        this.kill();
        return never();
      }
      const answer = await transport(request);
      if (mine) this.kill();
      return this.#dead ? never() : answer;
    };
  }
}
