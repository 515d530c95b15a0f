import { RULES, type Rule, type Violation } from './rules.ts';

export type Counts = Readonly<Record<string, Partial<Record<Rule, number>>>>;

export interface Excess {
  path: string;
  rule: Rule;
  allowed: number;
  violations: Violation[];
}

export function countsOf(found: ReadonlyMap<string, readonly Violation[]>): Counts {
  const counts: Record<string, Partial<Record<Rule, number>>> = {};
  for (const [path, violations] of found) {
    for (const { rule } of violations) {
      const own = counts[path] ?? {};
      counts[path] = { ...own, [rule]: (own[rule] ?? 0) + 1 };
    }
  }
  return counts;
}

/**
 * Returns the files with more violations of a rule than the baseline allows. A file that is not in the baseline may
 * have no violation.
 */
export function excesses(found: ReadonlyMap<string, readonly Violation[]>, baseline: Counts): Excess[] {
  const counts = countsOf(found);
  return Object.entries(counts).flatMap(([path, own]) =>
    rulesOf(own)
      .filter((rule) => (own[rule] ?? 0) > (baseline[path]?.[rule] ?? 0))
      .map((rule) => ({
        path,
        rule,
        allowed: baseline[path]?.[rule] ?? 0,
        violations: (found.get(path) ?? []).filter((violation) => violation.rule === rule),
      })),
  );
}

/**
 * Returns the new baseline. No count is larger than before. The counts follow texts that moved to another file:
 * - If a text moved to another file, the counts move with the text, and the sum over all files stays.
 * - If no text moved, a file gets the smaller number of its old and its new count.
 */
export function shrink(counts: Counts, baseline: Counts): Counts {
  const shrunk: Record<string, Partial<Record<Rule, number>>> = {};
  const rules = new Set(Object.values(baseline).flatMap(rulesOf));
  for (const rule of rules) {
    const moved = sum(counts, rule) <= sum(baseline, rule);
    for (const [path, own] of Object.entries(counts)) {
      const count = own[rule] ?? 0;
      const allowed = moved ? count : Math.min(count, baseline[path]?.[rule] ?? 0);
      if (allowed > 0) shrunk[path] = { ...shrunk[path], [rule]: allowed };
    }
  }
  return shrunk;
}

/** Prints one line for each file, so that changes of different files can be merged. */
export function printed(counts: Counts): string {
  const lines = Object.keys(counts)
    .sort()
    .map((path) => `  ${JSON.stringify(path)}: ${JSON.stringify(sorted(counts[path] ?? {}))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

function sum(counts: Counts, rule: Rule): number {
  return Object.values(counts).reduce((total, own) => total + (own[rule] ?? 0), 0);
}

function sorted(own: Partial<Record<Rule, number>>): Partial<Record<Rule, number>> {
  return Object.fromEntries(rulesOf(own).map((rule) => [rule, own[rule]]));
}

function rulesOf(own: Partial<Record<Rule, number>>): Rule[] {
  return RULES.filter((rule) => own[rule] !== undefined);
}
