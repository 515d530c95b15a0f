/** One HTTP request to an API server. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, such as `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An HTTP response of an API server, for example a `Response` of `fetch`. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Sends an HTTP request to an API server. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
