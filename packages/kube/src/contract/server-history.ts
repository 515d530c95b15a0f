import type { KubeObject, ResourceDefinition } from './objects.ts';
import { versionNumber } from './versions.ts';

type Kind = Pick<ResourceDefinition<KubeObject>, 'group' | 'plural'>;

/** A period in which no process held the Lease of a controller. */
export interface LeaseVacancy {
  readonly from: Date;
  readonly to: Date;
}

/** Detects that an administrator restored the API server to an older state, such as a backup. */
export class ServerHistory {
  readonly #handlers = new Set<(evidence: string) => void>();
  readonly #reached = new Map<string, number>();
  #rollbacks = 0;
  #vacancies: readonly LeaseVacancy[] = [];
  /** The responses that arrived after a restore of the API server, but whose requests started before the restore. */
  readonly #outdated = new WeakSet<object>();

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /**
   * The periods in which no process held the Lease. If mcm created an object in such a period, the API server was
   * restored.
   */
  get vacancies(): readonly LeaseVacancy[] {
    return this.#vacancies;
  }

  noteVacancies(times: readonly LeaseVacancy[]): void {
    this.#vacancies = [...this.#vacancies, ...times];
  }

  /** Records that a list or a watch of a kind has reached a resource version. */
  reached({ group, plural }: Kind, version: string): void {
    const key = `${plural}.${group}`;
    if (!(versionNumber(version) <= (this.#reached.get(key) ?? 0))) this.#reached.set(key, versionNumber(version));
  }

  /**
   * Returns the newest version that lists and watches of a kind have reached. A later object of this kind has a larger
   * version, unless the API server was restored.
   */
  newestOf({ group, plural }: Kind): number {
    return this.#reached.get(`${plural}.${group}`) ?? 0;
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
    this.#reached.clear();
    for (const handler of [...this.#handlers]) handler(evidence);
  }

  /** Calls `handler` after each restore, before any object of the older state is visible. */
  onWentBack(handler: (evidence: string) => void): () => void {
    const own = (evidence: string): void => handler(evidence);
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }
}
