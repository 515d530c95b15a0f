/** A listing's filter that this cloud cannot read. */
export class FilterError extends Error {
  override readonly name = 'FilterError';
}

/** `name = "m-1"`, `labels.role:worker`, `status!=RUNNING`; or in the older way, with regular expressions: `name eq m-.*`. */
const COMPARISON = /^\(?\s*([\w.-]+)\s*(!=|=|:|\b(?:eq|ne)\b)\s*("[^"]*"|[^\s"()]+)\s*\)?$/;

/**
 * A filter of a listing, as far as it is comparisons joined by AND or by parentheses alone.
 * @throws FilterError for any other
 */
export function readFilter(text: string): (item: object) => boolean {
  const tests = text
    .trim()
    .split(/\s+AND\s+|\)\s*(?=\()/)
    .map(comparison);
  return (item) => tests.every((test) => test(item));
}

function comparison(text: string): (item: object) => boolean {
  const [, path = '', operator = '', quoted = ''] = COMPARISON.exec(text.trim()) ?? [];
  if (path === '')
    throw new FilterError(`Invalid value for field 'filter': '${text}'. Invalid list filter expression.`);
  const wanted = quoted.replaceAll('"', '');
  const holds = (value: string | undefined): boolean => {
    switch (operator) {
      case ':':
        return wanted === '*' ? value !== undefined : value?.toLowerCase().includes(wanted.toLowerCase()) === true;
      case 'eq':
      case 'ne':
        return value !== undefined && new RegExp(`^(?:${wanted})$`).test(value);
      default:
        return value === wanted;
    }
  };
  const not = operator === '!=' || operator === 'ne';
  return (item) => holds(valueAt(item, path)) !== not;
}

function valueAt(item: unknown, path: string): string | undefined {
  const found = path
    .split('.')
    .reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), item);
  return found === undefined || typeof found === 'object' ? undefined : String(found);
}
