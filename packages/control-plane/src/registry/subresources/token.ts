import { methodNotAllowed } from '../errors.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';

export function requestToken(_request: SubresourceRequest): Promise<SubresourceAnswer> {
  return Promise.reject(methodNotAllowed());
}
