import { duplicate, invalid, required, tooMany } from '../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { readFieldPath } from './schema/field-path.ts';
import { type Fields, record, records, text } from './schema/fields.ts';

function validateSimplePath(path: string, field: string): StatusCause[] {
  return path.startsWith('.') ? [] : [invalid(field, path, 'must be a simple json path starting with .')];
}

function validatePath(path: string, field: string, prefixes: readonly string[], words: string): StatusCause[] {
  if (path === '') return [required(field)];
  const causes = validateSimplePath(path, field);
  if (causes.length > 0 || prefixes.some((prefix) => path.startsWith(`${prefix}.`))) return causes;
  return [invalid(field, path, words)];
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
    const words = 'should be a json path under either .spec or .status';
    causes.push(...validatePath(selector, `${at}.labelSelectorPath`, ['.status', '.spec'], words));
  }
  return causes;
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

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
    const jsonPath = text(column.jsonPath);
    return [
      ...causes,
      ...(jsonPath === '' ? [required(`${field}.JSONPath`)] : validateSimplePath(jsonPath, `${field}.JSONPath`)),
    ];
  });
}

const MAX_SELECTABLE = 8;

/** Validates the field `selectableFields` of a CRD version. */
export function validateSelectableFields(fields: unknown, schema: unknown, path: string): StatusCause[] {
  const list = records(fields);
  if (list.length === 0) return [];
  if (!isRecord(schema)) {
    // The error text comes from kube-apiserver, although the text states the opposite of the rule.
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
    else causes.push(...validateSelectablePath(jsonPath, record(schema), field, seen));
  });
  if (seen.size > MAX_SELECTABLE) causes.push(tooMany(path, seen.size, MAX_SELECTABLE));
  return causes;
}

const SELECTABLE_WORDS =
  'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';

function validateSelectablePath(jsonPath: string, schema: Fields, field: string, seen: Set<string>): StatusCause[] {
  const found = readFieldPath(jsonPath, schema, false);
  if (typeof found === 'string') return [invalid(field, jsonPath, `is an invalid path: ${found}`)];
  const causes: StatusCause[] = [];
  if (found.root === 'metadata') causes.push(invalid(field, jsonPath, 'must not point to fields in metadata'));
  if (!['string', 'boolean', 'integer'].includes(text(found.schema?.type))) {
    causes.push(invalid(field, jsonPath, SELECTABLE_WORDS));
  }
  if (seen.has(found.path)) causes.push(duplicate(field, jsonPath));
  seen.add(found.path);
  return causes;
}
