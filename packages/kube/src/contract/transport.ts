/** One HTTP exchange with an API server, without a host: the transport knows where to. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, e.g. `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** The part of a `Response` that the client uses; a real `Response` fits. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  /** The body as it arrives; null when there is none. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** A `fetch`-shaped function: undici with credentials in production, the embedded server's own handler in tests. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
