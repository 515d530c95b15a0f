import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  int: 'an integer',
  NaN: 'NaN',
  null: 'null',
  object: 'an object',
  record: 'an object',
};
const DEFAULT = /^(Invalid input: expected|Invalid option: expected|Too small: expected|Too big: expected) /;
const RECEIVED = / received (\w+)$/;

const typed = (type: string): string => TYPES[type] ?? `a ${type}`;

/** Returns a limit with its unit, such as `at least 3 characters`. */
function limit(bound: string, count: number | bigint, origin: string): string {
  const [unit] = { string: ['character'], array: ['item'], set: ['item'] }[origin] ?? [];
  const plural = count === 1 || count === 1n ? '' : 's';
  return unit === undefined ? `must be ${bound} ${count}` : `must have ${bound} ${count} ${unit}${plural}`;
}

/**
 * Returns the reason why a schema refuses a field, such as `must be a string, not a number`. Messages that the author of
 * the schema wrote stay unchanged.
 */
export function issueText(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  if (!DEFAULT.test(message)) return message;
  switch (issue.code) {
    case 'invalid_type': {
      const [, received = 'undefined'] = RECEIVED.exec(message) ?? [];
      const expected = typed(issue.expected);
      return received === 'undefined'
        ? `must be ${expected}, but the field is missing`
        : `must be ${expected}, not ${typed(received)}`;
    }
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return limit(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin);
    case 'too_big':
      return limit(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin);
    default:
      return message;
  }
}
