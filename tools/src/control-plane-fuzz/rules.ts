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

<<<<<<< HEAD
/** How far two answers to one request can be apart. */
=======
const stepOf = ({ case: { steps }, step }: Difference) => steps[step];
const messageOf = ({ expected: { body } }: Difference): string => (isJsonObject(body) ? String(body.message) : '');

/** The largest difference of time between two answers to one request. */
>>>>>>> e04bf942 (Name the object in messages, and write comments as plain nouns)
const CLOCKS_MS = 60_000;

/** The rules, each as narrow as its reason. */
const rules: readonly Rule[] = [
  {
    name: 'node ports in Tables',
    reason:
      'A server picks node ports at random. The battery hides them in objects but shows them in the cells of Tables.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.rows\[\d+\]\.cells\[\d+\]$/.test(path) &&
          expected !== withoutPicked(expected) &&
          withoutPicked(expected) === withoutPicked(actual),
      ),
  },
  {
    name: 'the end of a page that contains objects of other cases',
    reason:
      'The server returns a continue token if any object follows the page. Cases that run concurrently share the objects of the cluster.',
    matches: ({ request, failure }) =>
      !request.includes('/namespaces/') &&
      /[?&](label|field)Selector=/.test(request) &&
      failure.diffs.every(([path]) => /\.metadata\.continue$/.test(path)),
  },
  {
    name: 'the expiry of a token',
    reason: 'The servers answer at different moments, and the lifetime of a token starts at the answer.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.status\.expirationTimestamp$/.test(path) &&
          Math.abs(Date.parse(String(expected)) - Date.parse(String(actual))) <= CLOCKS_MS,
      ),
  },
<<<<<<< HEAD
=======
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
    reason: 'The plane removes the value of the field. Go keeps the first value of a number or a string.',
    matches: (difference) => NULL_AGAIN.test(stepOf(difference)?.text ?? ''),
  },
>>>>>>> e04bf942 (Name the object in messages, and write comments as plain nouns)
];

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
