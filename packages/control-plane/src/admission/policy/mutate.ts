import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { applyJsonPatch, layOver, patchProblem, typedProblems } from '../../patch/index.ts';
import { CARRIED_BINDING } from '../../registry/bodies/carried.ts';
import type { CarriedKind } from '../../resources/admission.ts';
import { ServedKind } from '../../resources/kind-registry.ts';
import { MessageValue } from '../../schema/cel/aggregates.ts';
import { toJson } from '../../schema/cel/runtime/to-json.ts';
import { CelRuntimeError, isMap } from '../../schema/cel/runtime/values.ts';
import type { Scope } from '../matching/expression.ts';
import type { Mutation } from './policy.ts';

/** The failure policy decides whether the server refuses the request. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

function misnamed(value: unknown, path: string): string[] {
  const problems: string[] = [];
  if (value instanceof MessageValue) {
    if (value.typeName !== path) {
      problems.push(
        `unexpected type name ${JSON.stringify(value.typeName)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
      );
    }
    for (const key of value.keys()) problems.push(...misnamed(value.get(key), `${path}.${String(key)}`));
  } else if (Array.isArray(value)) problems.push(...value.flatMap((item) => misnamed(item, path)));
  else if (isMap(value)) problems.push(...value.keys().flatMap((key) => misnamed(value.get(key), path)));
  return problems;
}

function checkNames(value: unknown): void {
  if (!(value instanceof MessageValue)) return;
  const problems = misnamed(value, value.typeName);
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`);
}

function plain(value: unknown): unknown {
  try {
    return toJson(value);
  } catch (error) {
    if (!(error instanceof CelRuntimeError)) throw error;
    throw new MutationError(error.message);
  }
}

function applyConfiguration(object: ApiObject, value: unknown, structure: ServedKind | CarriedKind): ApiObject {
  if (!(value instanceof MessageValue) || value.typeName !== 'Object') {
    throw new MutationError('unsupported return type from ApplyConfiguration expression');
  }
  checkNames(value);
  const configuration = { ...(plain(value) as object), apiVersion: object.apiVersion, kind: object.kind } as ApiObject;
  const kind = structureOf(structure);
  const { errors, atomic } = typedProblems(configuration, kind);
  if (errors.length > 0) {
    const list = errors.length === 1 ? errors[0] : `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`;
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${list}`);
  }
  if (atomic.length > 0) {
    const list = atomic.join(', ');
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${list}`,
    );
  }
  return layOver(object, configuration, kind);
}

/**
 * Returns the kind whose schema defines how the server merges a configuration into an object. The Binding is the only
 * subresource body whose type is known to kube-apiserver.
 */
function structureOf(of: ServedKind | CarriedKind): ServedKind['kind'] {
  if (of instanceof ServedKind) return of.kind;
  if (of.kind === CARRIED_BINDING.kind.kind) return CARRIED_BINDING.kind;
  const name = `${of.group}/${of.version}, Kind=${of.kind}`;
  throw new MutationError(
    `error applying patch: failed to convert patch object to typed object: no corresponding type for ${name}`,
  );
}

/** If one operation of a JSON patch fails, the object stays unchanged. */
function applyOperations(object: ApiObject, value: unknown): ApiObject {
  if (!Array.isArray(value))
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array');
  let changed = object as JsonObject;
  for (const item of value) {
    if (!(item instanceof MessageValue)) {
      throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
    }
    checkNames(item.get('value'));
    const operation = plain(item);
    try {
      changed = applyJsonPatch(changed, [operation]);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (isRecord(operation) && operation.op === 'test') return object;
      throw new MutationError(`JSON Patch: ${patchProblem(changed, operation)}`);
    }
  }
  return changed as ApiObject;
}

/**
 * @throws MutationError
 */
export function mutate(
  object: ApiObject,
  { sort, expression }: Mutation,
  as: ServedKind | CarriedKind,
  scope: Scope,
): ApiObject {
  const outcome = expression.evaluate(scope);
  if ('error' in outcome) throw new MutationError(outcome.error);
  return sort === 'JSONPatch' ? applyOperations(object, outcome.value) : applyConfiguration(object, outcome.value, as);
}
