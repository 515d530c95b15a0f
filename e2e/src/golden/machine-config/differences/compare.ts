import { isRecord } from '@mcm/kube';
import { comparableTexts } from './texts.ts';

/**
 * Returns the difference between two results as one line.
 * @param excuse called with the name of each parser whose error texts differ from the original
 */
export function differenceOf(
  expected: unknown,
  actual: unknown,
  excuse: (parser: string) => void = () => undefined,
  path = '',
): string | undefined {
  const [a, b] = [plain(expected), plain(actual)];
  if (path.endsWith('rror')) return errorDifference(a, b, excuse, path);
  if (a === b) return undefined;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return reported(path, a, b);
    for (const [index, entry] of a.entries()) {
      const inner = differenceOf(entry, b[index], excuse, `${path}[${index}]`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  if (isRecord(a) && isRecord(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const inner = differenceOf(a[key], b[key], excuse, `${path}.${key}`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  return reported(path, a, b);
}

/** Converts a value for the comparison. As in Go, null, an absent value, and an empty list or object are equal. */
function plain(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  return isRecord(value) && Object.keys(value).length === 0 ? undefined : value;
}

const reported = (path: string, expected: unknown, actual: unknown): string =>
  `${path || 'answer'}: expected ${short(expected)}, got ${short(actual)}`;

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};

function errorDifference(
  expected: unknown,
  actual: unknown,
  excuse: (parser: string) => void,
  path: string,
): string | undefined {
  if (expected === undefined && actual === undefined) return undefined;
  if (typeof expected !== 'string' || typeof actual !== 'string') return reported(path, expected, actual);
  const { theirs, ours, parser } = comparableTexts(expected, actual);
  if (parser !== undefined) excuse(parser);
  return theirs === ours ? undefined : reported(path, theirs, ours);
}
