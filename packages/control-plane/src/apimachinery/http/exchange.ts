/** A request, independent of its transport. */
export interface ServerRequest {
  readonly method: string;
  /** The path as the client sent it: escaped, and without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  /** Returns all values of a header. The method splits values at commas, because `fetch` joins repeated headers. */
  headerValues(name: string): readonly string[];
  headerNames(prefix: string): string[];
  /** Reads the whole body of the request. @throws StatusError 413 if the body is larger than 3 MiB */
  body(): Promise<Uint8Array>;
  /** A signal that aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Whether the request comes from this process. A request from this process without credentials has the permissions of
   * the administrator.
   */
  readonly trusted: boolean;
  /** The user in the client certificate, if the CA of this server has signed the certificate. */
  readonly certificate?: { readonly commonName: string; readonly organizations: readonly string[] } | undefined;
}

/** The receiver of a streamed response. */
export interface Sink {
  /** Writes a chunk. If `write` returns false, the caller must wait for `onDrain` before the next chunk. */
  write(chunk: Uint8Array): boolean;
  onDrain(listener: () => void): void;
  /** Calls the listener after the client disconnects or the stream ends. */
  onClose(listener: () => void): void;
  end(): void;
}

/** A response. The body is a text, bytes, or a stream. */
export interface ServerResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly warnings?: readonly string[];
  readonly body: string | Uint8Array | ((sink: Sink) => void);
}

/** The maximum size of a request body, in bytes. */
export const BODY_LIMIT = 3 * 1024 * 1024;
