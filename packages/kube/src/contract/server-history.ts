/** A period in which no process held a certain Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Detects that an API server was restored to an older state, such as a backup. A restored API server has older objects
 * and versions than the caches. When one cache detects a restore, the history informs all caches of the API server.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Responses that arrived after a restore, but whose requests were sent before the restore. */
  readonly #outdated = new WeakSet<object>();

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Periods in which no process held a Lease of this process, according to the API server. If mcm created an object in
   * such a period, the API server was restored to an older state.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** Records a response. `rollbacks` is the number of detected restores at the time of the request. */
  noteAnswer(answer: object, rollbacks: number): void {
    if (rollbacks !== this.#rollbacks) this.#outdated.add(answer);
  }

  /**
   * Returns true if the API server was restored after the request. The response may then describe a state that the API
   * server no longer has.
   */
  isOutdated(answer: object): boolean {
    return this.#outdated.has(answer);
  }

  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /**
   * Calls `handler` after each restore, before any object of the older state is visible. Returns a function that
   * removes the handler.
   */
  onWentBack(handler: (evidence: string) => void): () => void {
    // Each registration creates a new function, because a caller may register one handler twice.
    const own = (evidence: string): void => handler(evidence);
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
