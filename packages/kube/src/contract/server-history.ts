/** A period in which no process held a certain Lease. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/** Detects that an API server was restored to an older state, such as a backup. */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /**
   * Counts the responses that arrived after a restore of the API server, but whose requests started before the restore.
   */
  readonly #outdated = new WeakSet<object>();

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** If mcm created an object while no process held its Lease, the API server was restored to an older state. */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  noteAnswer(answer: object, rollbacks: number): void {
    if (rollbacks !== this.#rollbacks) this.#outdated.add(answer);
  }

  /** Returns true if the API server was restored after the request, so that the response may be outdated. */
  isOutdated(answer: object): boolean {
    return this.#outdated.has(answer);
  }

  wentBack(evidence: string): void {
    this.#rollbacks++;
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /** Calls `handler` after each restore, before any object of the older state is visible. */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence);
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
