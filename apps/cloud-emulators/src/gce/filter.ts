/** The error for a list request with a filter that the emulator does not support. */
export class FilterError extends Error {
  override readonly name = 'FilterError';
}

/**
 * Matches a comparison, such as `name = "m-1"`, `labels.role:worker`, `status!=RUNNING`, or the older form
 * `name eq m-.*`.
 */
const COMPARISON = /^\(?\s*([\w.-]+)\s*(!=|=|:|\b(?:eq|ne)\b)\s*("[^"]*"|[^\s"()]+)\s*\)?$/;

/**
 * Parses the filter of a list request.
 * @throws FilterError for a filter that the emulator does not support
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
