import {
  badRequest,
  internalError,
  invalid,
  invalidValue,
  notFound,
  notOfSubresource,
} from '../../apimachinery/errors/errors.ts';
import { unsupportedBody, unsupportedByRouter } from '../../apimachinery/http/negotiate.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { parentEntries } from '../../patch/index.ts';
import type { Target } from '../../resources/registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { CARRIED_SCALE } from '../bodies/carried.ts';
import { checkFields } from '../bodies/decode.ts';
import { checkType } from '../bodies/type-meta.ts';
import { patchTypesOf } from '../writes/patch.ts';
import { checkName, type Transformation, updateObject } from '../writes/update.ts';
import { read, replicasPathOf, scaleOf, steps } from './scale-of.ts';
import { patchedScale, sentScale } from './scale-patch.ts';
import { admitScale, managedScale, type ScaleReview, validateScale } from './scale-review.ts';

const SCALE = { group: 'autoscaling', kind: 'Scale' };

const UNSET_REPLICAS = -(2 ** 31);

function write(object: ApiObject, path: string, value: number): void {
  const way = steps(path);
  const last = way.pop();
  if (last === undefined) return;
  let at = object as Record<string, unknown>;
  for (const step of way) {
    const next = at[step];
    if (typeof next !== 'object' || next === null) at[step] = {};
    at = at[step] as Record<string, unknown>;
  }
  at[last] = value;
}

const replicasOf = ({ spec }: ApiObject): number => ((spec ?? {}) as { replicas?: number }).replicas ?? 0;

/** Validates the name in the body, before the server reads the scaled object. */
function checkScaleName(sent: Record<string, unknown>, target: Target): void {
  const metadata: unknown = sent.metadata ?? {};
  if (typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)) {
    checkName({ ...sent, metadata } as ApiObject, target);
  }
}

export async function scale(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call, method } = request;
  const { served } = target;
  const paths = served.kind.subresources?.scale;
  if (paths === undefined) throw notFound(served.kind, target.name);
  if (method === 'GET') {
    const record = registry.store.get(served.resource, target.namespace, target.name);
    if (record === undefined) throw notFound(served.kind, target.name);
    const object = registry.parse(served, record);
    const path = paths.specReplicasPath;
    if (served.kind.custom && read(object, path) === undefined) {
      throw internalError(`the spec replicas field ${JSON.stringify(path)} does not exist`);
    }
    return { status: 200, body: scaleOf(served, object) };
  }
  if (method !== 'PUT' && method !== 'PATCH') throw notOfSubresource(served.kind, method);
  const types = patchTypesOf(served);
  if (method === 'PATCH' && !types.some((type) => type === request.contentType)) {
    throw served.kind.custom ? unsupportedBody(types) : unsupportedByRouter();
  }
  const applying = request.contentType === 'application/apply-patch+yaml';
  const options = request.options(method === 'PUT' ? 'UpdateOptions' : 'PatchOptions', applying);
  const sent = method === 'PUT' ? await request.readBody('Scale') : undefined;
  if (sent !== undefined) checkType(sent.plain, CARRIED_SCALE, registry.kinds, sent.bytes);
  const given = sent === undefined ? undefined : sentScale(sent.plain, served);
  if (sent !== undefined) checkScaleName(sent.plain, target);
  if (sent !== undefined) checkFields(sent, CARRIED_SCALE, options, call.warn);
  const bytes = method === 'PATCH' ? await request.body() : undefined;
  const pathOf = replicasPathOf(registry, served);
  const review: ScaleReview = { registry, call, target, options, pathOf, applying };
  let warned = false;
  // After a conflict, the second attempt sends no second warning.
  const warn = (message: string): void => (warned ? undefined : call.warn(message));
  const made = (live: ApiObject): ApiObject => {
    if (bytes === undefined) return structuredClone(given ?? sentScale({}, served));
    const patch = { registry, served, options, warn, now: registry.now() };
    const current = managedScale(served, live, pathOf);
    if (served.kind.custom && !applying && read(live, paths.specReplicasPath) === undefined) {
      current.spec = { ...(current.spec as object | undefined), replicas: UNSET_REPLICAS };
    }
    return patchedScale(patch, current, request.contentType, bytes);
  };
  const next = async (parse: () => ApiObject): Promise<ApiObject> => {
    const live = parse();
    const scale = made(live);
    warned = true;
    const wanted = await admitScale(review, live, scale);
    const replicas = replicasOf(wanted);
    if (served.kind.custom && replicas === UNSET_REPLICAS) {
      throw badRequest(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} cannot be empty`);
    }
    if (replicas < 0 && !served.kind.custom) {
      const cause = invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0');
      throw invalid(SCALE, target.name, [cause]);
    }
    const { uid, resourceVersion, managedFields } = wanted.metadata;
    live.metadata.managedFields = parentEntries(live.metadata.managedFields, managedFields, served.apiVersion, pathOf);
    const { name } = scale.metadata;
    if (uid !== undefined) live.metadata.uid = uid;
    if (resourceVersion !== undefined && resourceVersion !== '') live.metadata.resourceVersion = resourceVersion;
    if (name !== undefined) live.metadata.name = name;
    write(live, paths.specReplicasPath, replicas);
    // The write may add a spec to the custom object, and the fields of the spec have defaults.
    if (served.kind.custom) served.schema?.setDefaults(live);
    return live;
  };
  const validate: Transformation['validate'] = (updated, old) => validateScale(review, updated, old);
  const transformation: Transformation = { next, managed: true, admitted: true, validate };
  const { text } = await updateObject(registry, call, target, transformation, options);
  return { status: 200, body: scaleOf(served, parseJson(text) as ApiObject) };
}
