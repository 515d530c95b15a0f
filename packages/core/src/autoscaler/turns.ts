export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs a change of a node group after all earlier changes of the group have succeeded or failed. */
  async take<T>(group: string, change: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(group) ?? Promise.resolve()).then(change);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(group, ended);
    void ended.then(() => this.#last.get(group) === ended && this.#last.delete(group));
    return result;
  }
}
