/** A cause in `details.causes` of a `Status`. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** The body of every error response: a `v1` `Status`. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, unknown>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: StatusCause[];
    retryAfterSeconds?: number;
  };
  code?: number;
}

/** An error with the `Status` for the response. The code of the `Status` becomes the HTTP status. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Omit<Status, 'kind' | 'apiVersion' | 'metadata' | 'status'> & { code: number }) {
    super(status.message ?? status.reason ?? `status ${status.code}`);
    this.status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status };
  }
}
