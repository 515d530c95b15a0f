import type { JsonSchema } from '@mcm/core';
import { isRecord } from '@mcm/kube';

/** A provider spec with one error. */
export interface SpecCase {
  readonly path: string;
  readonly field: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A provider spec with a misspelled field. `meant` is the correct name of the field. */
export interface UnknownFieldCase extends SpecCase {
  readonly meant: string;
}

type Path = readonly (string | number)[];

interface Field {
  readonly path: Path;
  readonly schema: JsonSchema;
}

const text = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');

/** The key of a map entry in generated specs, because schemas do not contain the keys of maps. */
const ENTRY = 'of-the-kit';

/** Returns all fields of a schema at any depth. */
function fieldsOf(schema: JsonSchema, path: Path = []): Field[] {
  const { properties = {}, items, additionalProperties: entry } = schema;
  const below = ([...Object.entries(properties)] as (readonly [string | number, JsonSchema])[]).concat(
    items ? [[0, items]] : [],
    typeof entry === 'object' && Object.keys(entry).length > 0 ? [[ENTRY, entry]] : [],
  );
  return below.flatMap(([name, each]) => {
    const field = { path: [...path, name], schema: each };
    return [field, ...fieldsOf(each, field.path)];
  });
}

function wrongFor({ type, enum: values, anyOf }: JsonSchema): unknown {
  if (values) return 'no-such-value-of-the-kit';
  if (type === 'string') return 7;
  if (type === 'integer' || type === 'number') return 'seven';
  if (type === 'boolean') return 'perhaps';
  if (type === 'object' || type === 'array') return 'a text';
  return anyOf?.every((each) => each.type === 'string') ? 7 : undefined;
}

/** Returns a copy of `value` with `leaf` at the path. */
function put(value: unknown, [first, ...rest]: Path, leaf: unknown): unknown {
  if (first === undefined) return leaf;
  if (typeof first === 'number') {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    return Object.assign([...list], { [first]: put(list[first], rest, leaf) });
  }
  const known = isRecord(value) ? value : {};
  return { ...known, [first]: put(known[first], rest, leaf) };
}

const nameOf = (path: Path): string =>
  String(path.findLast((part) => typeof part === 'string' && part !== ENTRY) ?? '');

/** Returns one case for each field at any depth: the field has a value of a type that the schema does not allow. */
export const wrongTypes = (schema: JsonSchema, spec: Readonly<Record<string, unknown>>): readonly SpecCase[] =>
  fieldsOf(schema).flatMap(({ path, schema: field }) => {
    const wrong = wrongFor(field);
    if (wrong === undefined) return [];
    return [{ path: text(path), field: nameOf(path), spec: put(spec, path, wrong) as SpecCase['spec'] }];
  });

/** Returns one case for each field at any depth: the spec has an additional field with a misspelled name. */
export const unknownFieldCases = (
  schema: JsonSchema,
  spec: Readonly<Record<string, unknown>>,
): readonly UnknownFieldCase[] =>
  fieldsOf(schema).flatMap(({ path }) => {
    const meant = path.at(-1);
    if (typeof meant !== 'string' || meant === ENTRY || meant.length < 4) return [];
    const half = Math.floor(meant.length / 2);
    const misspelt = `${meant.slice(0, half)}${meant[half - 1]}${meant.slice(half)}`;
    const at = [...path.slice(0, -1), misspelt];
    return [{ path: text(at), field: misspelt, meant, spec: put(spec, at, 'x') as SpecCase['spec'] }];
  });
