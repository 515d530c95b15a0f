export type RequestFault =
  /** The server refuses the request with 409, as if another client had written the object. */
  | 'conflict'
  /** The server refuses the request with 429 and a Retry-After header. */
  | 'throttled'
  /** The request fails with 500 and has no effect. */
  | 'internal'
  /** The server executes the request, but the connection breaks before the response. */
  | 'lost'
  /** The client is killed before the request is sent. */
  | 'killed before'
  /** The client is killed after the server has executed the request, and before the response. */
  | 'killed after';

export type Chances = Readonly<Partial<Record<RequestFault, number>>>;
