export class Timers {
  readonly #moments: number[] = [];
  readonly #acts = new Map<number, (() => void)[]>();

  get next(): number {
    return this.#moments[0] ?? Number.POSITIVE_INFINITY;
  }

  at(moment: number, act: () => void): void {
    if (!Number.isFinite(moment)) return;
    const acts = this.#acts.get(moment);
    if (acts) {
      acts.push(act);
      return;
    }
    this.#acts.set(moment, [act]);
    const after = this.#moments.findLastIndex((other) => other < moment);
    this.#moments.splice(after + 1, 0, moment);
  }

  /** Runs the actions that are due. If a due action schedules another action, the new action runs later. */
  run(moment: number): void {
    const due: (() => void)[] = [];
    while (this.next <= moment) {
      const first = this.#moments.shift() ?? moment;
      due.push(...(this.#acts.get(first) ?? []));
      this.#acts.delete(first);
    }
    for (const act of due) act();
  }
}
