import { parseJson } from '../../json.ts';
import type { ApiObject, JsonObject } from '../../object.ts';
import { applyJsonPatch, applyMergePatch, applyReplicas } from '../../patch/index.ts';
import { unsupportedBody, unsupportedByRouter } from '../../server/negotiate.ts';
import { checkPatched, jsonProblem, parseYamlText } from '../decode.ts';
import { badRequest, internalError, invalid, invalidValue, methodNotAllowed, notFound } from '../errors.ts';
import { invalidPatch, patchedText, patchTypesOf } from '../patch.ts';
import type { Target } from '../registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';
import { checkName, type Transformation, updateObject } from '../update.ts';
import { read, scaleOf, steps } from './scale-of.ts';
import { admitScale, type ScaleReview, validateScale } from './scale-review.ts';

const SCALE = { group: 'autoscaling', kind: 'Scale' };

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

function parsePatch(type: string, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  if (type === 'application/apply-patch+yaml') return parseYamlText(text);
  try {
    return parseJson(text);
  } catch {
    throw badRequest(`error decoding patch: ${jsonProblem(text)}`);
  }
}

function patched(current: JsonObject, type: string, bytes: Uint8Array): JsonObject {
  const patch = parsePatch(type, bytes);
  if (type === 'application/json-patch+json') return applyJsonPatch(current, patch);
  // A Scale has no lists, so a strategic merge patch and an applied object are merge patches of it.
  return applyMergePatch(current, patch as JsonObject);
}

/** The body is judged before anybody looks for the object. What is no metadata at all is told when it is read. */
function checkScaleName(sent: Record<string, unknown>, target: Target): void {
  const metadata: unknown = sent.metadata ?? {};
  if (typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)) {
    checkName({ ...sent, metadata } as unknown as ApiObject, target);
  }
}

const MOST_REPLICAS = 2 ** 31 - 1;

/** What of a number of replicas Go cannot read, in its words; undefined: nothing. */
function replicasProblem(replicas: unknown): string | undefined {
  if (typeof replicas === 'number') {
    return Number.isInteger(replicas) && Math.abs(replicas) <= MOST_REPLICAS ? undefined : `number ${replicas}`;
  }
  if (Array.isArray(replicas)) return 'array';
  return typeof replicas === 'boolean' ? 'bool' : typeof replicas;
}

/** `…/scale`: get, update and patch of the number of replicas. */
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
  if (method !== 'PUT' && method !== 'PATCH') throw methodNotAllowed();
  const types = patchTypesOf(served);
  if (method === 'PATCH' && !types.some((type) => type === request.contentType)) {
    throw served.kind.custom ? unsupportedBody(types) : unsupportedByRouter();
  }
  const applying = request.contentType === 'application/apply-patch+yaml';
  const options = request.options(method === 'PUT' ? 'UpdateOptions' : 'PatchOptions', applying);
  const sent = method === 'PUT' ? (await request.readBody('Scale')).plain : undefined;
  if (sent !== undefined) checkScaleName(sent, target);
  const bytes = method === 'PATCH' ? await request.body() : undefined;
  const path = steps(paths.specReplicasPath);
  const review: ScaleReview = { registry, call, target, options, path, applying };
  const next = async (live: ApiObject): Promise<ApiObject> => {
    const current = scaleOf(served, live);
    const given = (bytes === undefined
      ? (sent ?? {})
      : patched(current, request.contentType, bytes)) as unknown as ApiObject;
    checkPatched(given, served);
    const problem = replicasProblem((given.spec as { replicas?: unknown } | undefined)?.replicas ?? 0);
    if (problem !== undefined) {
      const why = `json: cannot unmarshal ${problem} into Go struct field ScaleSpec.spec.replicas of type int32`;
      if (bytes !== undefined) throw invalidPatch(patchedText(current, given), why);
      throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${why}`);
    }
    const wanted = await admitScale(review, live, given);
    const { replicas = 0 } = (wanted.spec ?? {}) as { replicas?: number };
    if (replicas < 0 && !served.kind.custom) {
      const cause = invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0');
      throw invalid(SCALE, target.name, [cause]);
    }
    if (applying) {
      live.metadata.managedFields = applyReplicas({
        live,
        path: steps(paths.specReplicasPath),
        changes: read(live, paths.specReplicasPath) !== replicas,
        manager: options.fieldManager,
        force: options.force,
        apiVersion: served.apiVersion,
        custom: served.kind.custom,
      });
    }
    const { name } = given.metadata;
    const { uid, resourceVersion } = wanted.metadata;
    if (uid !== undefined) live.metadata.uid = uid;
    if (resourceVersion !== undefined && resourceVersion !== '') live.metadata.resourceVersion = resourceVersion;
    if (name !== undefined) live.metadata.name = name;
    write(live, paths.specReplicasPath, replicas);
    return live;
  };
  const validate: Transformation['validate'] = (updated, old) => validateScale(review, updated, old);
  const transformation = { next, managed: applying, admitted: true, validate };
  const { text } = await updateObject(registry, call, target, transformation, options);
  return { status: 200, body: scaleOf(served, parseJson(text) as ApiObject) };
}
