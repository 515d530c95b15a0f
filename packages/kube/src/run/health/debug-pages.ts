/** The response of a debug page. */
export interface DebugAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** A page below `/debug/`. A client may read the page from loopback, or with permission for the path. */
export interface DebugPage {
  readonly path: string;
  readonly help: string;
  readonly answer: (query: URLSearchParams) => Promise<DebugAnswer>;
}

/** The debug pages of one program, without the pages that every program has. */
export class DebugPages {
  readonly #pages = new Map<string, DebugPage>();

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
