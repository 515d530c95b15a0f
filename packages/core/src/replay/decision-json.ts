import { isRecord, type KubeObject } from '@mcm/kube';
import { MachineError } from '../driver/contract/errors.ts';
import { type Json, withoutCopy } from './codec.ts';

const NAMED: ReadonlySet<string> = new Set(['Machine', 'Node', 'MachineClass']);

const isObject = (value: object): value is KubeObject & { readonly spec?: unknown } =>
  'metadata' in value && 'kind' in value && isRecord(value.metadata);

/**
 * Converts a decision to JSON for a comparison with another decision. The JSON of a decision contains Machines, Nodes
 * and MachineClasses only by name. MachineSets and MachineDeployments keep only the fields that a controller writes.
 */
export function decisionJson(value: unknown): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object') return null;
  if (Array.isArray(value)) return value.map(decisionJson);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid time' : value.toISOString();
  if (value instanceof Set) return [...value].map(decisionJson);
  if (value instanceof Map) return fields([...value].map(([key, each]): [string, unknown] => [nameOf(key), each]));
  if (value instanceof MachineError) return `${value.code}: ${value.message}`;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (!isObject(value)) return fields(Object.entries(value));
  if (NAMED.has(value.kind)) return `${value.kind}/${value.metadata.name}`;
  const { name, labels, finalizers } = value.metadata;
  const annotations = value.metadata.annotations && withoutCopy(value.metadata.annotations);
  return fields(Object.entries({ kind: value.kind, name, labels, annotations, finalizers, spec: value.spec }));
}

const nameOf = (key: unknown): string => (typeof key === 'string' ? key : JSON.stringify(decisionJson(key)));

function fields(entries: readonly (readonly [string, unknown])[]): Json {
  const result: Record<string, Json> = Object.create(null);
  for (const [key, value] of entries)
    if (value !== undefined && typeof value !== 'function') result[key] = decisionJson(value);
  return result;
}

/** The first field with different values in two decisions, in the order of the recorded decision. */
export interface FieldDifference {
  /** The path of the field, such as `actions[0].do`, or '' for the whole decision. */
  readonly field: string;
  readonly recorded: Json | undefined;
  readonly present: Json | undefined;
}

/** An empty value counts as missing, because different versions of mcm may write or omit an empty field. */
const isEmpty = (json: Json | undefined): boolean =>
  json === undefined ||
  json === null ||
  json === false ||
  (typeof json === 'object' && Object.values(json).every((each: Json) => isEmpty(each)));

const isObjectJson = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/** Returns the first difference between two decisions, or undefined if the decisions are equal. */
export function firstDifference(
  recorded: Json | undefined,
  present: Json | undefined,
  field = '',
): FieldDifference | undefined {
  if (isEmpty(recorded) && isEmpty(present)) return undefined;
  if (Array.isArray(recorded) && Array.isArray(present)) {
    for (let i = 0; i < Math.max(recorded.length, present.length); i++) {
      const found = elementDifference(recorded[i], present[i], `${field}[${i}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isObjectJson(recorded) && isObjectJson(present)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(present)])) {
      const found = firstDifference(own(recorded, key), own(present, key), field === '' ? key : `${field}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return recorded === present ? undefined : { field, recorded, present };
}

/** A missing element of a list differs from an empty element. */
const elementDifference = (recorded: Json | undefined, present: Json | undefined, field: string) =>
  (recorded === undefined) === (present === undefined)
    ? firstDifference(recorded, present, field)
    : { field, recorded, present };

const own = (json: { readonly [key: string]: Json }, key: string): Json | undefined =>
  Object.hasOwn(json, key) ? json[key] : undefined;
