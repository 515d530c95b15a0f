import { isJsonObject } from './requests/json.ts';
import type { Difference } from './verdict.ts';

/** A difference that is meant to be there. */
export interface Rule {
  readonly name: string;
  /** Why the answers differ. */
  readonly reason: string;
  matches(difference: Difference): boolean;
}

/** The cell of a Table that lists the ports of a Service, with a node port that the server has picked. */
const PICKED = /:3[0-2]\d{3}(?=\/)/g;
const withoutPicked = (value: unknown): unknown => (typeof value === 'string' ? value.replace(PICKED, ':0') : value);

const stepOf = ({ case: { steps }, step }: Difference) => steps[step];
const messageOf = ({ expected: { body } }: Difference): string => (isJsonObject(body) ? String(body.message) : '');

/** How far two answers to one request can be apart. */
const CLOCKS_MS = 60_000;

/** `"a":1,…,"a":null` in one object. */
const NULL_AGAIN = /"([^"]+)":(?:"[^"]*"|[\w.-]+)(?:,"[^"]+":(?:"[^"]*"|[\w.-]+))*,"\1":null/;

/** The rules, each as narrow as its reason. */
const rules: readonly Rule[] = [
  {
    name: 'node ports in Tables',
    reason:
      'A server picks node ports at random. The battery hides them in objects and shows them in the cells of Tables.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.rows\[\d+\]\.cells\[\d+\]$/.test(path) &&
          expected !== withoutPicked(expected) &&
          withoutPicked(expected) === withoutPicked(actual),
      ),
  },
  {
    name: 'the end of a page among the objects of other cases',
    reason:
      'A continue token follows a page after which any object is stored. Cases that run concurrently share the objects of the cluster.',
    matches: ({ request, failure }) =>
      !request.includes('/namespaces/') &&
      /[?&](label|field)Selector=/.test(request) &&
      failure.diffs.every(([path]) => /\.metadata\.continue$/.test(path)),
  },
  {
    name: 'the end of a token',
    reason: 'The servers answer at different moments, and count the life of a token from there.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.status\.expirationTimestamp$/.test(path) &&
          Math.abs(Date.parse(String(expected)) - Date.parse(String(actual))) <= CLOCKS_MS,
      ),
  },
  {
    name: 'a whole number with an exponent or a fraction',
    reason: 'The plane reads 1e3 and 5.0 as the integers 1000 and 5. Go refuses them in an integer field.',
    matches: (difference) =>
      difference.expected.status === 400 &&
      /cannot unmarshal number \S*[.e]\S* into Go struct field .* of type u?int/.test(messageOf(difference)) &&
      /[:[,]-?\d+(\.\d+)?e\d|[:[,]-?\d+\.0/i.test(stepOf(difference)?.text ?? ''),
  },
  {
    name: 'a field given twice, the second time as null',
    reason: 'The plane empties the field. Go leaves a number or a text as it was.',
    matches: (difference) => NULL_AGAIN.test(stepOf(difference)?.text ?? ''),
  },
];

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
