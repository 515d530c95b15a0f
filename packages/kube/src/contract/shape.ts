import { isRecord } from './json-values.ts';

/** The types of a structural schema. */
export interface Shape {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape;
  readonly items?: Shape;
  readonly 'x-kubernetes-int-or-string'?: true;
}

/** A field of a stored object whose value has a wrong type. */
export interface Fault {
  readonly field: string;
  /** The problem as a text, such as `is missing: an object is needed`. */
  readonly problem: string;
  readonly guessed: boolean;
}

type Json = Record<string, unknown>;

const NAMES = {
  object: 'an object',
  array: 'a list',
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
} as const;

const needed = (shape: Shape): string =>
  shape['x-kubernetes-int-or-string'] ? 'an integer or a string' : shape.type ? NAMES[shape.type] : 'a value';

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return NAMES.array;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return NAMES.string;
  return typeof value === 'number' ? NAMES.number : NAMES.object;
}

function fits(value: unknown, shape: Shape): boolean {
  if (shape['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value);
  switch (shape.type) {
    case undefined:
      return true;
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === shape.type;
  }
}

function emptyOf(shape: Shape): unknown {
  if (shape['x-kubernetes-int-or-string']) return 0;
  switch (shape.type) {
    case 'array':
      return [];
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return 0;
    default:
      return Object.fromEntries(
        (shape.required ?? []).map((field) => [field, emptyOf(shape.properties?.[field] ?? {})]),
      );
  }
}

class Repair {
  readonly faults: Fault[] = [];

  value(value: unknown, shape: Shape, path: string): void {
    if (isRecord(value)) this.fields(value, shape, path);
    else if (Array.isArray(value) && shape.items) this.#items(value, shape.items, path);
  }

  fields(object: Json, shape: Shape, path: string): void {
    const { properties, additionalProperties, required } = shape;
    for (const field in properties) {
      const own = properties[field];
      if (own !== undefined) this.#field(object, field, own, { path, required: required?.includes(field) === true });
    }
    if (additionalProperties === undefined) return;
    for (const key of Object.keys(object)) {
      if (properties?.[key] === undefined) {
        this.#field(object, key, additionalProperties, { path, required: false });
      }
    }
  }

  #field(
    object: Json,
    field: string,
    shape: Shape,
    { path, required }: { readonly path: string; readonly required: boolean },
  ): void {
    const value = object[field];
    if (value === undefined && !required) return;
    if (value === null && shape.nullable) return;
    const own = path === '' ? field : `${path}.${field}`;
    if (value !== null && value !== undefined && fits(value, shape)) {
      this.value(value, shape, own);
      return;
    }
    if (value !== null || required) this.#addFault(own, value, shape);
    if (required) object[field] = emptyOf(shape);
    else delete object[field];
  }

  #items(list: unknown[], shape: Shape, path: string): void {
    let kept = 0;
    for (const [index, item] of list.entries()) {
      const own = `${path}[${index}]`;
      if (fits(item, shape) || (item === null && shape.nullable)) {
        this.value(item, shape, own);
        list[kept++] = item;
      } else this.#addFault(own, item, shape);
    }
    list.length = kept;
  }

  #addFault(field: string, value: unknown, shape: Shape): void {
    const is = value === undefined ? 'is missing' : `is ${nameOf(value)}`;
    const guessed = (value !== undefined && value !== null) || shape.type === 'object' || shape.type === 'array';
    this.faults.push({ field, problem: `${is}: ${needed(shape)} is needed`, guessed });
  }
}

/**
 * Repairs an object in place, so that the object conforms to its type. `conform` sets a missing required field to its
 * zero value, and removes a value with a wrong type.
 */
export function conform(object: object, shape: Shape): readonly Fault[] {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...properties } = shape.properties ?? {};
  const repair = new Repair();
  repair.fields(object as Json, { ...shape, properties, required: (shape.required ?? []).filter(isOwn) }, '');
  return repair.faults;
}

const isOwn = (field: string): boolean => field !== 'apiVersion' && field !== 'kind' && field !== 'metadata';
