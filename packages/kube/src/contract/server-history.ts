/** A period in which no process held a Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Detects that an API server returned to an older state, for example because a backup was restored. The objects and
 * versions of the server are then older than the caches. A cache that finds evidence reports the evidence to this object,
 * and the other caches get the report.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Answers to requests that were sent before a rollback was found, and whose answers arrived afterwards. */
  readonly #outdated = new WeakSet<object>();

  /** Number of times that the server returned to an older state. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Periods in which, according to the server, no process held a Lease that this process has acquired. If an object of this
   * project was created in such a period, the server was restored to an earlier state.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  /** Records that no process held a Lease of this process in these periods. */
  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** Records the answer of a request. `rollbacks` is the number of rollbacks when the request was sent. */
  noteAnswer(answer: object, rollbacks: number): void {
    if (rollbacks !== this.#rollbacks) this.#outdated.add(answer);
  }

  /** Returns true if an answer may describe a state that the server no longer has. */
  isOutdated(answer: object): boolean {
    return this.#outdated.has(answer);
  }

  /** Records that the server has an older state than before. */
  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /**
   * Calls `handler` after each rollback, before any object of the older state is visible. Returns a function that removes
   * the handler.
   */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence); // A new function for each call, because a caller may register the same handler twice.
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
