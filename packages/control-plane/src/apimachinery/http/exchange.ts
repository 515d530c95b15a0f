export interface ServerRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  /** Returns the values of a header, split at commas, because `fetch` joins repeated headers. */
  headerValues(name: string): readonly string[];
  headerNames(prefix: string): string[];
  /** @throws StatusError 413 if the body is larger than 3 MiB */
  body(): Promise<Uint8Array>;
  readonly signal: AbortSignal;
  /**
   * Whether the request comes from this process. If a request from this process has no credentials, it has the
   * permissions of the administrator.
   */
  readonly trusted: boolean;
  readonly certificate?: { readonly commonName: string; readonly organizations: readonly string[] } | undefined;
}

export interface Sink {
  /**
   * Writes a chunk of the response. If `write` returns false, the caller must wait for `onDrain` before the next chunk.
   */
  write(chunk: Uint8Array): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
  end(): void;
}

export interface ServerResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly warnings?: readonly string[];
  readonly body: string | Uint8Array | ((sink: Sink) => void);
}

export const BODY_LIMIT = 3 * 1024 * 1024;
