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

/** How far two answers to one request can be apart. */
const CLOCKS_MS = 60_000;

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
];

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
