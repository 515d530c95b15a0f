/** A request, independent of its transport. */
export interface ServerRequest {
  readonly method: string;
  /** The path as it was sent, still escaped, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  /** All values of a header, one for each time that it was sent. Values from `fetch` are split at commas, because `fetch` joins them. */
  headerValues(name: string): readonly string[];
  /** Names of headers (in lower case) that begin so. */
  headerNames(prefix: string): string[];
  /** The whole body. @throws StatusError 413 beyond 3 MiB */
  body(): Promise<Uint8Array>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** A request from this process. Without credentials, it has the rights of the administrator. */
  readonly trusted: boolean;
  /** The user in a TLS client certificate of this CA. */
  readonly certificate?: { readonly commonName: string; readonly organizations: readonly string[] } | undefined;
}

/** Where a stream writes to. */
export interface Sink {
  /** False: wait for `onDrain` before the next. */
  write(chunk: Uint8Array): boolean;
  onDrain(listener: () => void): void;
  /** The client is gone, or the stream has ended. */
  onClose(listener: () => void): void;
  end(): void;
}

/** An answer: a text, bytes, or a stream that continues. */
export interface ServerResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly warnings?: readonly string[];
  readonly body: string | Uint8Array | ((sink: Sink) => void);
}

/** The largest body that is read, in bytes. */
export const BODY_LIMIT = 3 * 1024 * 1024;
