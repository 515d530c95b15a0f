/** The response of a debug page. */
export interface DebugAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** A page below `/debug/`, for clients on loopback and clients with permission for the path. */
export interface DebugPage {
  readonly path: string;
  /** Purpose and parameters of the page, for the list of pages. */
  readonly help: string;
  readonly answer: (query: URLSearchParams) => Promise<DebugAnswer>;
}

/** The debug pages of one program. The pages that every program has are not included. */
export class DebugPages {
  readonly #pages = new Map<string, DebugPage>();

  /** Adds a page, or replaces the page with the same path. */
  serve(page: DebugPage): void {
    this.#pages.set(page.path, page);
  }

  get(path: string): DebugPage | undefined {
    return this.#pages.get(path);
  }

  list(): readonly DebugPage[] {
    return [...this.#pages.values()];
  }

  index(): string {
    return [...this.#pages.values()].map(({ path, help }) => `${path.padEnd(27)} ${help}\n`).join('');
  }
}
