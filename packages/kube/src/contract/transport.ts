/** One HTTP request to an API server. The transport adds the host of the API server. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, such as `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A `Response` of `fetch` has this type. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * A function like `fetch`. In production, undici sends the request with credentials. In tests, the handler of the
 * embedded server processes the request.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
