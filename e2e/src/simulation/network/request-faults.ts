/** Faults of a request to the API server or the cloud. */
export type RequestFault =
  /** The request is refused with 409 and has no effect, as if another client had written first. */
  | 'conflict'
  /** The request is refused with 429 and a Retry-After. */
  | 'throttled'
  /** The request is answered with 500 and has no effect. */
  | 'internal'
  /** The request is carried out, but the connection is lost before the answer. */
  | 'lost'
  /** The client is killed before it sends the request. */
  | 'killed before'
  /** The client is killed after the request was carried out and before the answer. */
  | 'killed after';

/** The probability of each fault for one request, from 0 to 1. */
export type Chances = Readonly<Partial<Record<RequestFault, number>>>;
