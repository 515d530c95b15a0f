import { invalid, required, tooMany } from '../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { compileJsonPath, JsonPathError } from '../table/jsonPath.ts';
import { type Fields, record, records, text } from './fields.ts';

const isSimplePath = (path: string): boolean => /^(\.[^.[\]\s]+)+$/.test(path);

function validatePath(path: string, field: string, prefixes: readonly string[], words: string): StatusCause[] {
  if (path === '') return [required(field)];
  if (!isSimplePath(path))
    return [invalid(field, path, 'is an invalid path: should be a simple json path without array notation')];
  return prefixes.some((prefix) => path.startsWith(`${prefix}.`)) ? [] : [invalid(field, path, words)];
}

export function validateSubresources(subresources: Fields, path: string): StatusCause[] {
  const scale = own(subresources, 'scale');
  if (!isRecord(scale)) return [];
  const at = `${path}.scale`;
  const causes = [
    ...validatePath(
      text(scale.specReplicasPath),
      `${at}.specReplicasPath`,
      ['.spec'],
      'should be a json path under .spec',
    ),
    ...validatePath(
      text(scale.statusReplicasPath),
      `${at}.statusReplicasPath`,
      ['.status'],
      'should be a json path under .status',
    ),
  ];
  const selector = text(scale.labelSelectorPath);
  if (selector !== '') {
    const words = 'should be a json path under either .status or .spec';
    causes.push(...validatePath(selector, `${at}.labelSelectorPath`, ['.status', '.spec'], words));
  }
  return causes;
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['binary', 'byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'name', 'password'];

/** Validates `additionalPrinterColumns` of a version. */
export function validateColumns(columns: unknown, path: string): StatusCause[] {
  return records(columns).flatMap((column, at) => {
    const field = `${path}[${at}]`;
    const causes: StatusCause[] = [];
    if (text(column.name) === '') causes.push(required(`${field}.name`));
    const type = text(column.type);
    if (type === '') causes.push(required(`${field}.type`, `must be one of ${COLUMN_TYPES.join(',')}`));
    else if (!COLUMN_TYPES.includes(type)) {
      causes.push(invalid(`${field}.type`, type, `must be one of ${COLUMN_TYPES.join(',')}`));
    }
    const format = text(column.format);
    if (format !== '' && !COLUMN_FORMATS.includes(format)) {
      causes.push(invalid(`${field}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
    }
    return [...causes, ...validateColumnPath(text(column.jsonPath), `${field}.JSONPath`)];
  });
}

function validateColumnPath(path: string, field: string): StatusCause[] {
  if (path === '') return [required(field)];
  try {
    compileJsonPath(path);
    return [];
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return [invalid(field, path, error.message)];
  }
}

const MAX_SELECTABLE = 8;

/** Validates `selectableFields`. Each entry must be a field of the schema with a scalar type, without duplicates. */
export function validateSelectableFields(fields: unknown, schema: unknown, path: string): StatusCause[] {
  const list = records(fields);
  if (list.length > 0 && !isRecord(schema)) {
    // The text of the real server. One of its texts states the opposite of the rule.
    const why =
      path === 'spec.selectableFields'
        ? 'validations.schema is included'
        : '`version.schema.openAPIV3Schema` is not included';
    return [invalid(path, '', `may only be set when ${why}`)];
  }
  const causes: StatusCause[] = [];
  const seen = new Set<string>();
  list.forEach((entry, at) => {
    const field = `${path}[${at}].jsonPath`;
    const jsonPath = text(entry.jsonPath);
    if (jsonPath === '') causes.push(required(field));
    else causes.push(...validateSelectablePath(jsonPath, schema, field));
    if (seen.has(jsonPath))
      causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: "${jsonPath}"`, field });
    seen.add(jsonPath);
  });
  if (list.length > MAX_SELECTABLE) causes.push(tooMany(path, list.length, MAX_SELECTABLE));
  return causes;
}

function validateSelectablePath(path: string, schema: unknown, field: string): StatusCause[] {
  if (!path.startsWith('.')) {
    const [first = ''] = path.split('.');
    return [invalid(field, path, `is an invalid path: expected [ or . but got: ${first}`)];
  }
  let node = record(schema);
  for (const name of path.slice(1).split('.')) {
    const property = own(record(node.properties), name);
    if (!isRecord(property)) return [invalid(field, path, 'is an invalid path: does not refer to a valid field')];
    node = property;
  }
  if (['string', 'boolean', 'integer'].includes(text(node.type))) return [];
  const words =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
  return [invalid(field, path, words)];
}
