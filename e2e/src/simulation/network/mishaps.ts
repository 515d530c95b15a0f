/** Faults of a request to the API server or the cloud. */
export type Mishap =
  /** Refused with 409 and without effect: another client wrote first. */
  | 'conflict'
  /** Refused with 429 and a Retry-After. */
  | 'throttled'
  /** Answered with 500 and without effect. */
  | 'internal'
  /** Executed, but the connection is lost before the answer. */
  | 'lost'
  /** The caller is killed before it sends the request. */
  | 'killed before'
  /** The caller dies after the request was executed and before its answer. */
  | 'killed after';

/** Probabilities of faults, each from 0 to 1 for one request. */
export type Chances = Readonly<Partial<Record<Mishap, number>>>;
