import type { Case, Fixture, Runner } from './battery.ts';
import type { Outcome } from './run.ts';
import type { Difference } from './verdict.ts';

const SHOWN = 500;

const cut = (value: unknown): string => (JSON.stringify(value) ?? '(absent)').slice(0, SHOWN);

const numberOf = ({ case: { name } }: Difference): string => /case (\d+)/.exec(name)?.[1] ?? '';

/** Returns the differences between the servers by class, most frequent class first. */
export const classesOf = (found: readonly Difference[]): readonly (readonly [string, readonly Difference[]])[] =>
  [...Map.groupBy(found, (difference) => difference.class)].toSorted(([, a], [, b]) => b.length - a.length);

const diffLines = ({ failure }: Difference, indent: string): readonly string[] =>
  failure.diffs
    .slice(0, 8)
    .flatMap(([path, expected, actual]) => [
      `${indent}@${path}`,
      `${indent}  - ${cut(expected)}`,
      `${indent}  + ${cut(actual)}`,
    ]);

function detailLines(difference: Difference): readonly string[] {
  const { body, text, headers } = difference.case.steps[difference.step] ?? {};
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  return [
    `       ${difference.request} ${headers === undefined ? '' : JSON.stringify(headers)} ${sent.slice(0, SHOWN)}`,
    ...diffLines(difference, '       '),
  ];
}

/**
 * Returns the lines of the fuzzer's report: one line for each class of differences, and a last line for the whole seed.
 */
export function reportLines(seed: number, outcome: Outcome, details: boolean): readonly string[] {
  const classes = classesOf(outcome.found);
  const { requests, compared, broken, found, unsteady, excused, next } = outcome;
  return [
    ...classes.flatMap(([name, all]) => [
      `${String(all.length).padStart(5)}  ${name}   (case ${all.map(numberOf).slice(0, 4).join(', ')})`,
      ...(details && all[0] !== undefined ? detailLines(all[0]) : []),
    ]),
    ...broken.map(
      (each) => `       ${each.name}: the real server did not answer request ${each.steps.length + 1}: ${each.broken}`,
    ),
    ...unsteady.map((each) => `       the difference did not occur again: ${each.class} (case ${numberOf(each)})`),
    ...[...excused].map(([name, count]) => `${String(count).padStart(5)} differences excused by the rule "${name}"`),
    `seed ${seed}: ${requests} requests until case ${next - 1}, ${compared} responses compared, ${found.length} differences in ${classes.length} classes, ${unsteady.length} did not occur again`,
  ];
}

/** Returns a minimized difference as a case of the battery. */
export const shrunkLines = (difference: Difference, runner: Runner): readonly string[] => [
  '',
  difference.class,
  ...diffLines(difference, '  '),
  runner.pretty(difference.case),
];

export const batteryFile = (runner: Runner, fixtures: readonly Fixture[], cases: readonly Case[]): string =>
  `${runner.pretty({ category: 'fuzz', about: 'Cases that the fuzzer found.', server: 'kube-apiserver v1.36.3', fixtures, cases })}\n`;
