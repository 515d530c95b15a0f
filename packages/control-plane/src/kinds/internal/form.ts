import { emptiesOf, keepEmpties } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { defined, items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { INTERNAL } from './table.ts';

interface InternalField {
  readonly name: string;
  readonly type: string;
  readonly key: string;
}

let structures: Map<string, readonly InternalField[]> | undefined;

function structureOf(name: string): readonly InternalField[] | undefined {
  if (structures === undefined) {
    structures = new Map();
    for (const row of INTERNAL.trim().split('\n')) {
      const [owner = '', columns = ''] = row.split(': ');
      const fields = columns.split(' ').map((column) => {
        const [left = '', alias] = column.split('=');
        const [field = '', type = ''] = left.split(':');
        const key = alias === undefined || alias === '-' ? field : alias;
        return { name: field, type, key: key.toLowerCase() };
      });
      structures.set(owner, fields);
    }
  }
  return structures.get(name);
}

const HOST_FIELDS = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'];

/** Converts a pod spec to the internal form. */
function podForm(spec: Plain): Plain {
  const context = look(spec, 'securityContext');
  const held = HOST_FIELDS.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]);
  if (spec.securityContext === undefined && held.length === 0) return spec;
  return { ...spec, securityContext: keepEmpties({ ...context, ...Object.fromEntries(held) }, context) };
}

const ZEROS: Readonly<Record<string, unknown>> = { "''": '', '0': 0, b: false, q: '0', '?': null };

/** Sorts the keys of maps, as Go does. */
export const inOrder = (value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** Converts a label selector to the internal form. */
export function selectorForm(selector: Plain): Plain {
  const { matchLabels, matchExpressions } = selector;
  return defined({
    matchLabels: matchLabels === undefined ? undefined : inOrder(matchLabels),
    matchExpressions:
      matchExpressions === undefined ? undefined : items(selector, 'matchExpressions').map(inFieldOrder),
  });
}

const inFieldOrder = ({ key, operator, values }: Plain): Plain =>
  defined({
    key,
    operator,
    values,
  });

function formOf(type: string, value: unknown): unknown {
  if (type in ZEROS) return value === undefined || value === null ? ZEROS[type] : inOrder(value);
  if (type === 's') return isRecord(value) ? selectorForm(value) : null;
  if (type.startsWith('*')) return isRecord(value) ? internalForm(type.slice(1), value) : null;
  if (type.startsWith('[]')) {
    return Array.isArray(value) ? value.map((item) => formOf(type.slice(2), item)) : null;
  }
  if (type.startsWith('{}')) {
    if (!isRecord(value)) return null;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, formOf(type.slice(2), item)]));
  }
  return internalForm(type, isRecord(value) ? value : {});
}

/** Converts an API value to kube-apiserver's internal structure, with the names, order and zero values of Go. */
export function internalForm(structure: string, value: Plain): Plain {
  const fields = structureOf(structure);
  if (fields === undefined) return value;
  const given = structure === 'PodSpec' ? podForm(value) : value;
  const byKey = new Map(Object.entries(given).map(([key, item]) => [key.toLowerCase(), item]));
  for (const [field, empty] of Object.entries(emptiesOf(value))) {
    const key = field.toLowerCase();
    byKey.set(key, byKey.get(key) ?? empty);
  }
  const form: Plain = {};
  for (const { name, type, key } of fields) {
    // The Go structure embeds the metadata, so the metadata fields have the names of the API.
    if (type === 'ObjectMeta') Object.assign(form, byKey.get(key) ?? {});
    else form[name] = formOf(type, byKey.get(key));
  }
  return form;
}
