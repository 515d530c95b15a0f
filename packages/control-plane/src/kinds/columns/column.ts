import { exactInteger } from '../../apimachinery/objects/json.ts';
import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined, look, text } from '../../apimachinery/objects/plain.ts';
import { fieldDoc } from '../../resources/docs.ts';
import { ageOf } from '../../table/age.ts';

type Cell = NonNullable<PrinterColumn['value']>;

interface Extra {
  /** The priority of the column. kubectl shows a column with the priority 1 only with `-o wide`. */
  readonly priority?: number;
  readonly type?: PrinterColumn['type'];
  readonly doc?: string | readonly [model: string, field: string];
}

export function column(name: string, value: Cell, { priority, type = 'string', doc = '' }: Extra = {}): PrinterColumn {
  return defined({
    name,
    type,
    value,
    priority,
    get description(): string {
      return typeof doc === 'string' ? doc : fieldDoc(doc[0], doc[1]);
    },
  });
}

/** Returns a column that kubectl shows only with `-o wide`. */
export const wide = (name: string, value: Cell, extra: Extra = {}): PrinterColumn =>
  column(name, value, { ...extra, priority: 1 });

/** Tables of custom kinds always start with the column of the name. */
export const NAME: PrinterColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  value: (object) => object.metadata.name ?? '',
};

export const AGE: PrinterColumn = column('Age', (object, now) => ageOf(object.metadata.creationTimestamp, now), {
  doc: ['V1ObjectMeta', 'creationTimestamp'],
});

export const ageAt = (time: unknown, now: Date): string => ageOf(time, now);

export const NONE = '<none>';

export function textAt(object: ApiObject, path: string, otherwise = ''): string {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  return text(look(object, ...steps), last) || otherwise;
}

/** Formats the value at a path. */
export function shownAt(object: ApiObject, path: string, otherwise: string): string {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const value = look(object, ...steps)[last];
  return value === undefined || value === null || value === '' ? otherwise : String(value);
}

export function countAt(object: ApiObject, path: string): number | bigint {
  const text = shownAt(object, path, '0');
  return exactInteger(text, Number(text));
}

/** Formats labels as `a=b,c=d`, or as `<none>` for no labels. */
export function shownLabels(labels: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? NONE : pairs.sort().join(',');
}

const OPERATORS: Readonly<Record<string, string>> = { In: 'in', NotIn: 'notin' };

export function shownSelector(selector: unknown): string {
  const parts = Object.entries(look(selector, 'matchLabels')).map(([key, value]) => `${key}=${value}`);
  const expressions = look({ selector }, 'selector').matchExpressions;
  for (const expression of Array.isArray(expressions) ? expressions : []) {
    const { key, operator, values } = expression as { key: string; operator: string; values?: string[] };
    if (operator === 'Exists') parts.push(key);
    else if (operator === 'DoesNotExist') parts.push(`!${key}`);
    else parts.push(`${key} ${OPERATORS[operator] ?? operator} (${[...(values ?? [])].sort().join(',')})`);
  }
  return parts.length === 0 ? NONE : parts.sort().join(',');
}

export function shownFirst(list: readonly string[], max: number, separator = ','): string {
  const head = list.slice(0, max).join(separator);
  return list.length > max ? `${head} + ${list.length - max} more...` : head;
}

export const viewedAs = (
  view: (object: ApiObject) => ApiObject,
  columns: readonly PrinterColumn[],
): readonly PrinterColumn[] =>
  columns.map((one) => {
    const { value } = one;
    if (value === undefined) return one;
    return {
      ...one,
      value: (object, now) => value(view(object), now),
    };
  });
