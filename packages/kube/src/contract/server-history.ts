/** A period in which no process held a Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Detects the restore of an API server to an older state, such as a backup. A restored server has older objects and
 * versions than the caches. The cache that detects a restore calls `ServerHistory`, which informs all caches of the
 * server.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Outdated responses: they arrived after a rollback, but their requests were sent before the rollback. */
  readonly #outdated = new WeakSet<object>();

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Periods in which no process held a Lease of this process, according to the server. If an object of this project is
   * from a vacancy, the server was restored to an earlier state.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** Records a response. `rollbacks` is the number of rollbacks at the time of the request. */
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
   * Calls `handler` after each rollback, before any object of the older state is visible. Returns a function that
   * removes the handler.
   */
  onWentBack(handler: (evidence: string) => void): () => void {
    // Each call creates a new function, because a caller may register one handler twice.
    const own = (evidence: string): void => handler(evidence);
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
