import type { Difference } from './judge.ts';

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

/** The rules, each as narrow as its reason. */
export const rules: readonly Rule[] = [
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
];

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
