/** Runs the changes of each group one after another. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs a change after the earlier changes of the group have ended. A failed change also counts as ended. */
  async take<T>(group: string, change: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(group) ?? Promise.resolve()).then(change);
    const ended = result.then(
      () => undefined,
      () => undefined, // The caller of the change gets the error.
    );
    this.#last.set(group, ended);
    void ended.then(() => this.#last.get(group) === ended && this.#last.delete(group));
    return result;
  }
}
