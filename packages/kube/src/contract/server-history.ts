/** A period in which no process held a Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Detects that an API server was restored to an older state, for example because a backup was restored. After a
 * restore, the objects and versions of the server are older than the caches. A cache that detects a restore reports the
 * restore to `ServerHistory`, which informs all caches of the server.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Responses to requests from before a rollback that arrived after the rollback. */
  readonly #outdated = new WeakSet<object>();

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Periods in which no process held a Lease of this process, according to the server. An object of this project from
   * such a period proves that the server was restored to an earlier state.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** `rollbacks` is the number of rollbacks when the request was sent. */
  noteAnswer(answer: object, rollbacks: number): void {
    if (rollbacks !== this.#rollbacks) this.#outdated.add(answer);
  }

  /** An outdated response may describe a state that the server no longer has. */
  isOutdated(answer: object): boolean {
    return this.#outdated.has(answer);
  }

  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /**
   * Calls `handler` after each rollback, before any object of the older state is visible. `onWentBack` returns a
   * function that removes the handler.
   */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence); // A new function for each call, because a caller may register the same handler twice.
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
