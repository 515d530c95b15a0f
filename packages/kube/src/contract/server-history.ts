/** A time in which no process held a Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Whether the states of an API server still follow each other. After the restore of a backup they do not: objects and
 * versions are those of the past, and what a cache learned after the backup never happened. Each copy of the server's
 * state that finds evidence of it tells the others here.
 */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** Answers to requests that were sent before a rollback was found, and that arrived after it. */
  readonly #outdated = new WeakSet<object>();

  /** How often the server was found to have gone back. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * Times in which, as the server knows it, no process held a Lease that this process has taken. A trace of work from such a
   * time is proof that the server was restored to a state before it.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  /** This process has taken a Lease that no process held in these times. */
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

  /** The server shows an older state than it did. */
  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /** Calls back each time, before anything of the older state is shown. Answers how to end that. */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence); // The same function may be registered twice.
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
