import type { Case, Failure } from './battery.ts';
import { isJsonObject } from './requests/json.ts';
import type { Answer, Step } from './requests/step.ts';

export interface Difference {
  readonly case: Case;
  readonly step: number;
  readonly request: string;
  readonly failure: Failure;
  readonly expected: Answer;
  readonly actual: Answer;
  /** The class of a difference, by which a report groups differences. */
  readonly class: string;
}

const causesOf = ({ body }: Answer): readonly string[] => {
  const details = isJsonObject(body) && isJsonObject(body['details']) ? body['details'] : {};
  const causes = Array.isArray(details['causes']) ? details['causes'] : [];
  return [...new Set(causes.map((cause) => (isJsonObject(cause) ? String(cause['field']) : '')))].toSorted();
};

const without = (left: readonly string[], right: readonly string[]): string[] =>
  left.filter((each) => !right.includes(each));

const reasonOf = ({ body }: Answer): string => (isJsonObject(body) ? String(body['reason'] ?? '') : '');
const isRefusal = ({ status = 200, body }: Answer): boolean =>
  status >= 400 || (isJsonObject(body) && body['kind'] === 'Status' && body['status'] === 'Failure');

/** Removes list indexes and keys from a field path, because they vary between cases. */
const general = (path: string): string =>
  path.replace(/\[[^\]]*\]/g, '[]').replaceAll(/[a-z]{0,2}-?\$\{id\}[\w.]*/g, 'ID');

/**
 * Compares two responses, and returns the differences that affect clients: the status code, the reason, the fields of
 * the causes, and the object.
 */
export function essenceOf({ diffs, answer }: Failure, expected: Answer, exact = false): string | undefined {
  const actual = answer ?? {};
  if (expected.status !== actual.status) return `status ${expected.status} -> ${actual.status}`;
  if (isRefusal(expected) || isRefusal(actual)) {
    if (reasonOf(expected) !== reasonOf(actual)) return `reason ${reasonOf(expected)} -> ${reasonOf(actual)}`;
    const missing = without(causesOf(expected), causesOf(actual));
    const more = without(causesOf(actual), causesOf(expected));
    const fields = [...missing.map((each) => `-${each}`), ...more.map((each) => `+${each}`)];
    if (fields.length > 0) return `fields ${general(fields.join(' '))}`;
    return exact ? textOf(diffs) : undefined;
  }
  const paths = diffs.map(([path]) => path).filter((path) => path.startsWith('.body'));
  if (paths.length > 0) return `object ${general([...new Set(paths)].slice(0, 2).join(' '))}`;
  return exact ? textOf(diffs) : undefined;
}

const textOf = (diffs: Failure['diffs']): string | undefined =>
  diffs.length === 0 ? undefined : `text ${general([...new Set(diffs.map(([path]) => path))].slice(0, 2).join(' '))}`;

const formOf = ({ request = '', headers }: Step): string => {
  const [method = '', path = ''] = request.split(' ');
  const [plain = ''] = path.split('?');
  const type = headers?.['content-type']?.replace(/^application\/|[+-](patch\+)?(json|yaml)$/g, '') ?? '';
  const short = plain
    .replace(/^\/apis?\//, '')
    .replace(/namespaces\/\$\{ns\}\//, '')
    .replace(/\/(a|b|v1\.none\.dev|as\.none\.dev|10\.97\.1\.1)(-\$\{id\})?(?=\/|$)/, '/NAME');
  return [method, type, short].filter((each) => each !== '').join(' ');
};

/** Returns the first step of a case with a difference that affects clients, or undefined. */
export function firstDifference(recorded: Case, failures: readonly Failure[], exact = false): Difference | undefined {
  for (const failure of failures) {
    const index = failure.step - 1;
    const step = recorded.steps[index];
    if (step === undefined) throw new Error(`${recorded.name}: ${failure.what}: ${JSON.stringify(failure.diffs)}`);
    if (failure.what === 'runner') throw new Error(`${recorded.name}: ${JSON.stringify(failure.diffs)}`);
    const expected = step.answer ?? {};
    const essence = essenceOf(failure, expected, exact);
    if (essence === undefined) continue;
    const form = step.events === undefined ? formOf(step) : `events of ${formOf(recorded.steps[0] ?? {})}`;
    const request = step.request ?? form;
    return {
      case: recorded,
      step: index,
      request,
      failure,
      expected,
      actual: failure.answer ?? {},
      class: `${form}: ${essence}`,
    };
  }
  return undefined;
}
