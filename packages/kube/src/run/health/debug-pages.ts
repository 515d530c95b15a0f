/** The answer of a debug page. */
export interface DebugAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** A page below `/debug/`. Only clients on loopback and clients with permission for the path can read the page. */
export interface DebugPage {
  readonly path: string;
  /** Parameters and purpose of the page, for the list of all pages. */
  readonly help: string;
  readonly answer: (query: URLSearchParams) => Promise<DebugAnswer>;
}

/** The debug pages of a program, in addition to the pages of every program. */
export class DebugPages {
  readonly #pages = new Map<string, DebugPage>();

  /** Adds a page; a page with the same path is replaced. */
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
