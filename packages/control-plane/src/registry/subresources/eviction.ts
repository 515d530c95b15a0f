import { methodNotAllowed } from '../errors.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';

export function evictPod(_request: SubresourceRequest): Promise<SubresourceAnswer> {
  return Promise.reject(methodNotAllowed());
}
