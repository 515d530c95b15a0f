import { notFound, notOfSubresource } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { decodeObject } from '../bodies/decode.ts';
import { type PatchType, patchObject } from '../writes/patch.ts';
import { checkName, updateObject } from '../writes/update.ts';

/** Handles writes of subresources that are a part of their object, such as `status`. */
export async function partUpdate(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call, method } = request;
  const { served } = target;
  if (method === 'GET') {
    const record = registry.store.get(served.resource, target.namespace, target.name);
    if (record === undefined) throw notFound(served.kind, target.name);
    return { status: 200, text: served.storedTextOf(record) };
  }
  if (method === 'PUT') {
    const options = request.options('UpdateOptions');
    const read = async (warn: typeof call.warn) => {
      const sent = await request.readBody(served.kind.kind);
      return decodeObject(sent, served, registry.kinds, options, warn);
    };
    let first: ApiObject | undefined = await read(call.warn);
    // The server validates the body before it reads the object.
    checkName(first, target);
    const next = async () => {
      // An attempt may change the parsed object, so the next attempt parses the body again.
      const object = first ?? (await read(() => undefined));
      first = undefined;
      return object;
    };
    return { status: 200, text: (await updateObject(registry, call, target, { next }, options)).text };
  }
  if (method === 'PATCH') {
    const type = request.contentType as PatchType;
    const options = request.options('PatchOptions', type === 'application/apply-patch+yaml');
    return {
      status: 200,
      text: (await patchObject(registry, call, target, type, await request.body(), options)).text,
    };
  }
  throw notOfSubresource(target.served.kind, method);
}
