import { parseJson } from '../../json.ts';
import type { ApiObject, JsonObject } from '../../object.ts';
import { applyJsonPatch, applyMergePatch, applyReplicas } from '../../patch/index.ts';
import { unsupportedBody, unsupportedByRouter } from '../../server/negotiate.ts';
import { checkPatched, jsonProblem } from '../decode.ts';
import { badRequest, invalid, invalidValue, methodNotAllowed, notFound } from '../errors.ts';
import type { ServedKind } from '../kind-registry.ts';
import { copyJson } from '../object-text.ts';
import { invalidPatch, patchedText, patchTypesOf } from '../patch.ts';
import type { Target } from '../registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';
import { checkName, updateObject } from '../update.ts';

const SCALE = { group: 'autoscaling', kind: 'Scale' };

/** `.spec.replicas` → `['spec', 'replicas']`. */
const steps = (path: string): string[] => path.split('.').filter((step) => step !== '');

function read(object: ApiObject, path: string): unknown {
  let value: unknown = object;
  for (const step of steps(path)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

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

/** A label selector of a spec as the text of a query. */
function selectorText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  const { matchLabels, matchExpressions } = value as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  const plain = matchLabels === undefined && matchExpressions === undefined ? (value as Record<string, string>) : {};
  const terms = Object.entries(matchLabels ?? plain).map(([key, item]) => `${key}=${item}`);
  for (const { key, operator, values = [] } of matchExpressions ?? []) {
    if (operator === 'Exists') terms.push(key);
    else if (operator === 'DoesNotExist') terms.push(`!${key}`);
    else terms.push(`${key} ${operator === 'In' ? 'in' : 'notin'} (${[...values].sort().join(',')})`);
  }
  return terms.sort().join(',');
}

/** The `Scale` view of an object. Zero replicas are left out of the spec, as Go's omitempty has it. */
export function scaleOf({ kind }: ServedKind, object: ApiObject): JsonObject {
  const paths = kind.subresources?.scale;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = Number(read(object, paths?.specReplicasPath ?? '') ?? 0);
  const selector = paths?.labelSelectorPath === undefined ? '' : selectorText(read(object, paths.labelSelectorPath));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: copyJson({ name, namespace, uid, resourceVersion, creationTimestamp }) as JsonObject,
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: Number(read(object, paths?.statusReplicasPath ?? '') ?? 0),
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function parsePatch(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    return parseJson(text);
  } catch {
    throw badRequest(`error decoding patch: ${jsonProblem(text)}`);
  }
}

function patched(current: JsonObject, type: string, bytes: Uint8Array): JsonObject {
  const patch = parsePatch(bytes);
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

/** `…/scale`: get, update and patch of the number of replicas. */
export async function scale(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call, method } = request;
  const { served } = target;
  const paths = served.kind.subresources?.scale;
  if (paths === undefined) throw notFound(served.kind, target.name);
  if (method === 'GET') {
    const record = registry.store.get(served.resource, target.namespace, target.name);
    if (record === undefined) throw notFound(served.kind, target.name);
    return { status: 200, body: scaleOf(served, registry.parse(served, record)) };
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
  const next = (live: ApiObject): ApiObject => {
    const current = scaleOf(served, live);
    const wanted = (bytes === undefined
      ? (sent ?? {})
      : patched(current, request.contentType, bytes)) as unknown as ApiObject;
    checkPatched(wanted, served);
    const replicas = (wanted.spec as { replicas?: unknown } | undefined)?.replicas ?? 0;
    if (typeof replicas !== 'number' || !Number.isInteger(replicas)) {
      const why = `json: cannot unmarshal ${typeof replicas} into Go struct field ScaleSpec.spec.replicas of type int32`;
      if (bytes !== undefined) throw invalidPatch(patchedText(current, wanted), why);
      throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${why}`);
    }
    if (replicas < 0 && served.kind.custom) {
      throw invalid(served.kind, target.name, [
        invalidValue('spec.replicas', replicas, 'spec.replicas in body should be greater than or equal to 0'),
        invalidValue(paths.specReplicasPath, replicas, 'should be a non-negative integer'),
      ]);
    }
    if (replicas < 0) {
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
    const { uid, resourceVersion, name } = wanted.metadata;
    if (uid !== undefined) live.metadata.uid = uid;
    if (resourceVersion !== undefined && resourceVersion !== '') live.metadata.resourceVersion = resourceVersion;
    if (name !== undefined) live.metadata.name = name;
    write(live, paths.specReplicasPath, replicas);
    return live;
  };
  const { text } = await updateObject(registry, call, target, { next, managed: applying }, options);
  return { status: 200, body: scaleOf(served, parseJson(text) as ApiObject) };
}
