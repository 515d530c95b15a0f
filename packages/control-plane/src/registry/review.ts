import type { ApiObject } from '../object.ts';
import type { AdmissionAttributes } from './admission.ts';
import type { WriteOptions } from './options.ts';
import type { Call, Target } from './registry.ts';

/** A kind that is answered and never stored, as it is created. `object` is decoded, and carries its managed fields. */
export interface ReviewRequest {
  readonly object: ApiObject;
  readonly call: Call;
  readonly target: Target;
  readonly options: WriteOptions;
  /** The request as admission sees it. */
  readonly attributes: AdmissionAttributes;
}

/** Answers a review: the object with its status. @throws StatusError */
export type ReviewHandler = (request: ReviewRequest) => ApiObject | Promise<ApiObject>;
