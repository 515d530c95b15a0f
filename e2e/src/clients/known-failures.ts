import { parse } from 'yaml';
import type { Outcome } from './outcomes.ts';

export type KnownFailures = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Parses the file with the expected failures.
 * @throws Error with the suite and the test, if an entry is invalid.
 */
export function readKnownFailures(text: string): KnownFailures {
  const value = (parse(text) ?? {}) as Record<string, Record<string, unknown> | null>;
  for (const [suite, tests] of Object.entries(value)) {
    for (const [name, reason] of Object.entries(tests ?? {})) {
      if (typeof reason !== 'string' || reason.trim() === '') {
        throw new Error(`known-failures.yaml: ${suite}: "${name}" must have a reason`);
      }
    }
  }
  return Object.fromEntries(
    Object.entries(value).map(([suite, tests]) => [suite, (tests ?? {}) as Record<string, string>]),
  );
}

/** Returns sentences about the differences between the results and the expected failures. */
export function surprises(outcomes: readonly Outcome[], known: Readonly<Record<string, string>>): string[] {
  const passed = new Set(outcomes.filter((each) => each.passed).map(({ name }) => name));
  const failed = new Set(outcomes.filter((each) => !each.passed).map(({ name }) => name));
  return [
    ...[...failed].filter((name) => !Object.hasOwn(known, name)).map((name) => `failed: ${name}`),
    ...Object.keys(known).flatMap((name) => {
      if (failed.has(name)) return [];
      const why = passed.has(name)
        ? 'passed, but is listed as a known failure'
        : 'is listed as a known failure, but did not run';
      return [`${why}: ${name}`];
    }),
    ...(outcomes.length === 0 ? ['no test ran'] : []),
  ];
}
