/** One HTTP request to an API server. The transport adds the host of the API server. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, such as `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An HTTP response of an API server. A `Response` of `fetch` has this type. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Sends an HTTP request to an API server. In production, the transport uses undici and adds credentials. In tests, the
 * transport calls the embedded control plane.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
