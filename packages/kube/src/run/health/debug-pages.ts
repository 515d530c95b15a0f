/** The answer of a debug page. */
export interface DebugAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** A page below `/debug/` for clients on loopback, or with permission for its path. */
export interface DebugPage {
  /** For example `/debug/journal`. */
  readonly path: string;
  /** Its parameters and purpose, for the list of all pages. */
  readonly help: string;
  readonly answer: (query: URLSearchParams) => Promise<DebugAnswer>;
}

/** The debug pages of a program in addition to those that every program has. */
export class DebugPages {
  readonly #pages = new Map<string, DebugPage>();

  /** Serves the page from now on. A page with the same path is replaced. */
  serve(page: DebugPage): void {
    this.#pages.set(page.path, page);
  }

  get(path: string): DebugPage | undefined {
    return this.#pages.get(path);
  }

  /** One line for each page. */
  index(): string {
    return [...this.#pages.values()].map(({ path, help }) => `${path.padEnd(27)} ${help}\n`).join('');
  }
}
