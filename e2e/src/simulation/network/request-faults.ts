/** Faults of a request to the API server or the cloud. */
export type RequestFault =
  /**
   * The server refuses the request with 409, as if another client had written the object first. The request has no
   * effect.
   */
  | 'conflict'
  /** The request is refused with 429 and a Retry-After header. */
  | 'throttled'
  /** The request fails with 500 and has no effect. */
  | 'internal'
  /** The request takes effect, but the connection is lost before the response. */
  | 'lost'
  /** The client is killed before it sends the request. */
  | 'killed before'
  /** The client is killed after the effect of the request and before the response. */
  | 'killed after';

/** The probability of each fault for one request, from 0 to 1. */
export type Chances = Readonly<Partial<Record<RequestFault, number>>>;
