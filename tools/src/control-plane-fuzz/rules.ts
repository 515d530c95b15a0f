import type { Difference } from './verdict.ts';

/** An intended difference. */
export interface Rule {
  readonly name: string;
  readonly reason: string;
  matches(difference: Difference): boolean;
}

/** Matches a node port that the server has chosen, in the table cell with the ports of a Service. */
const PICKED = /:3[0-2]\d{3}(?=\/)/g;
const withoutPicked = (value: unknown): unknown => (typeof value === 'string' ? value.replace(PICKED, ':0') : value);

/** The largest time difference between the two responses to a request. */
const CLOCKS_MS = 60_000;

/** Each rule covers only the differences that its reason explains. */
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
];

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
