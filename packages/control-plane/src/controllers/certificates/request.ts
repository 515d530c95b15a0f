import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, strings, text } from '../../apimachinery/objects/plain.ts';
import type { RequestSpec } from '../../certificates/signer.ts';
import { type Api, allowing } from '../client/api.ts';
import { CERTIFICATE_REQUESTS } from '../client/resources.ts';

export type ConditionType = 'Approved' | 'Denied' | 'Failed';

export const hasCondition = (request: ApiObject, type: ConditionType): boolean =>
  items(look(request, 'status'), 'conditions').some((condition) => condition.type === type);

export const isIssued = (request: ApiObject): boolean => text(look(request, 'status'), 'certificate') !== '';

export function specOf(request: ApiObject): RequestSpec {
  const spec = look(request, 'spec');
  const seconds = spec.expirationSeconds;
  return {
    request: text(spec, 'request'),
    signerName: text(spec, 'signerName'),
    usages: strings(spec, 'usages'),
    expirationSeconds: typeof seconds === 'number' ? seconds : undefined,
  };
}

/**
 * Adds a condition to a certificate request. The function ignores a conflict, because the write of the other client
 * triggers another sync.
 */
export async function addCondition(
  api: Api,
  request: ApiObject,
  condition: { type: ConditionType; reason: string; message: string },
  now: Date,
): Promise<void> {
  const conditions = [
    ...items(look(request, 'status'), 'conditions'),
    { ...condition, status: 'True', lastUpdateTime: formatTime(now), lastTransitionTime: formatTime(now) },
  ];
  const updated = { ...request, status: { ...look(request, 'status'), conditions } };
  const subresource = condition.type === 'Failed' ? 'status' : 'approval';
  await allowing(api.update(CERTIFICATE_REQUESTS, updated, subresource), 404, 409);
}
