/** Waiting tasks start in the order of their arrival. */
export class Lane {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs a task. By calling `leave`, the task can let the next task start before its own end. */
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
