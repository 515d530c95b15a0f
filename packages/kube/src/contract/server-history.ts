/** A period in which no process held a Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Detects that an API server went back to an older state, for example after the restore of a backup.
 * Its objects and versions are then older than the caches. Each cache that finds evidence reports it here to the other caches.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Answers to requests that were sent before a rollback was found, and that arrived after it. */
  readonly #outdated = new WeakSet<object>();

  /** The number of times that the server went back. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Periods in which no process held a Lease that this process has taken, according to the server. Work of this project from such a
   * period proves that the server was restored to an earlier state.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  /** Records that no process held a Lease of this process in these periods. */
  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** The answer of a request. `rollbacks` is the count of rollbacks when the request was sent. */
  noteAnswer(answer: object, rollbacks: number): void {
    if (rollbacks !== this.#rollbacks) this.#outdated.add(answer);
  }

  /** Whether an answer may describe a state that the server no longer has. */
  isOutdated(answer: object): boolean {
    return this.#outdated.has(answer);
  }

  /** Records that the server shows an older state than before. */
  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /** Calls back each time, before any object of the older state is visible. Returns a function that removes the handler. */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence); // The same function may be registered twice.
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
