/** Limits the number of tasks that run at the same time. */
export class Lane {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** The next task can start when a running task calls `leave`. */
  async run<T>(work: (leave: () => void) => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
    try {
      return await work(leave);
    } finally {
      leave();
    }
  }
}
