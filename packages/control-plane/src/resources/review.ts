import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { AdmissionAttributes } from './admission.ts';
import type { WriteOptions } from './options.ts';
import type { Call, Registry, Target } from './registry.ts';

/** A create request for a kind that is answered and never stored. `object` is decoded, and has its managed fields. */
export interface ReviewRequest {
  readonly object: ApiObject;
  readonly call: Call;
  readonly target: Target;
  readonly options: WriteOptions;
  /** The attributes for admission. */
  readonly attributes: AdmissionAttributes;
}

/** Answers a review: the object with its status. @throws StatusError */
export type ReviewHandler = (request: ReviewRequest) => ApiObject | Promise<ApiObject>;

/** Answers a review after admission. A binding runs admission itself, before its validation. @throws StatusError */
export async function answerReview(
  registry: Registry,
  review: ReviewHandler,
  parts: Omit<ReviewRequest, 'attributes'>,
): Promise<ApiObject> {
  const { call, target, object, options } = parts;
  const attributes = registry.attributes(call, target, {
    operation: 'CREATE',
    object,
    old: undefined,
    dryRun: options.dryRun,
    options: options.given,
    name: object.metadata.name ?? '',
  });
  if (target.served.resource === '/bindings') return review({ ...parts, attributes });
  const admitted = (await registry.admission.admit(attributes)) ?? object;
  await registry.admission.validate({ ...attributes, object: admitted });
  return review({ ...parts, object: admitted, attributes });
}
