import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { Registry, ReviewHandler, ReviewRequest } from './registry.ts';

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
