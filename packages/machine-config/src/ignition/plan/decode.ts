import type { FieldPlan, Plan } from './plan.ts';
import { Trail } from './trail.ts';

export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  /** The path of the value, such as `$.storage.files.0.mode`. */
  readonly path: string;
  readonly detail: string;
  constructor(path: string, detail: string) {
    super(`error at ${path}: ${detail}`);
    this.path = path;
    this.detail = detail;
  }
}

/**
 * Decodes parsed JSON like Go: keys are case-insensitive, unknown keys and null values are dropped, and no type is
 * converted.
 * @throws DecodeError naming the first value of a wrong type
 */
export const decode = (plan: Plan, value: unknown): unknown => decodeAt(plan, value, new Trail());

function decodeAt(plan: Plan, value: unknown, path: Trail): unknown {
  switch (plan.kind) {
    case 'string':
      if (typeof value !== 'string') return fail(path, 'a text', value);
      return (plan.accepts?.(value) ?? true) ? value : refuse(path, value);
    case 'boolean':
      return typeof value === 'boolean' ? value : fail(path, 'true or false', value);
    case 'integer':
      if (!isInteger(value)) return fail(path, 'an integer', value);
      return (plan.accepts?.(value) ?? true) ? value : refuse(path, value);
    case 'list':
      if (!Array.isArray(value)) return fail(path, 'a list', value);
      return decodeList(plan.entry, value, path);
    case 'object':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(path, 'an object', value);
      return decodeObject(plan, value as Readonly<Record<string, unknown>>, path);
  }
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

function decodeList(plan: Plan, value: readonly unknown[], path: Trail): unknown[] {
  const depth = path.parts.length;
  const result: unknown[] = [];
  for (let index = 0; index < value.length; index += 1) {
    path.parts[depth] = index;
    result.push(decodeAt(plan, value[index] ?? zeroOf(plan), path));
  }
  path.parts.length = depth;
  return result;
}

function decodeObject(
  plan: Extract<Plan, { kind: 'object' }>,
  value: Readonly<Record<string, unknown>>,
  path: Trail,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, plan: inner, required } of plan.fields) if (required) result[name] = zeroOf(inner);
  for (const key of Object.keys(value)) {
    const given = value[key];
    if (given === null || given === undefined) continue;
    const field = fieldOf(plan, key);
    if (!field) continue;
    path.parts.push(field.name);
    result[field.name] = decodeAt(field.plan, given, path);
    path.parts.pop();
  }
  return result;
}

const fieldOf = (plan: Extract<Plan, { kind: 'object' }>, key: string): FieldPlan | undefined =>
  plan.byName.get(key) ?? plan.byName.get(key.toLowerCase());

function zeroOf(plan: Plan): unknown {
  switch (plan.kind) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'integer':
      return 0;
    case 'list':
      return [];
    case 'object':
      return decodeObject(plan, {}, new Trail());
  }
}

function fail(path: Trail, wanted: string, value: unknown): never {
  const given = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
  throw new DecodeError(String(path), `must be ${wanted}, not ${given}`);
}

function refuse(path: Trail, value: string | number): never {
  throw new DecodeError(String(path), `${JSON.stringify(value)} is not a valid value`);
}
