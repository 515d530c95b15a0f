import { methodNotAllowed } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson } from '../../apimachinery/objects/object-text.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { decodeObject } from '../bodies/decode.ts';
import { checkName, updateObject } from '../writes/update.ts';

export async function finalizeNamespace(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call } = request;
  if (request.method !== 'PUT') throw methodNotAllowed();
  const options = request.options('UpdateOptions');
  const body = await request.readBody('Namespace');
  const sent = decodeObject(body, target.served, registry.kinds, options, call.warn);
  checkName(sent, target);
  const next = (live: () => ApiObject): ApiObject => ({
    ...copyJson(sent),
    spec: sent.spec ?? {},
    status: live().status,
  });
  return { status: 200, text: (await updateObject(registry, call, target, { next }, options)).text };
}
