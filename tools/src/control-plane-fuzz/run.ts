import type { Case, Player } from './battery.ts';
import { caseOf, requestsOf } from './cases.ts';
import type { Kind, Samples } from './requests/kinds.ts';
import type { Schemas } from './requests/schema.ts';
import { ruleOf } from './rules.ts';
import { type Try, tryWith } from './shrink.ts';
import { type Difference, firstDifference } from './verdict.ts';

const BATCH = 24;
const REPLAYS = 4;

export interface Run {
  readonly seed: number;
  /**
   * After this number of requests, the run starts no further case. The run completes its last case, so the run may send
   * more requests.
   */
  readonly requests: number;
  readonly from?: number;
  /** If `only` is set, the fuzzer sends only the case with this index. */
  readonly only?: number | undefined;
  /** If true, differences in messages, content types and warnings count too. */
  readonly exact?: boolean;
  readonly kinds: readonly Kind[];
  readonly schemas: Schemas;
  readonly samples: Samples;
  readonly real: Player;
  readonly plane: Player;
}

export interface Outcome {
  readonly requests: number;
  /**
   * The number of requests whose responses were compared. After a difference, the objects on both servers differ, so
   * later requests are not compared.
   */
  readonly compared: number;
  readonly broken: readonly Case[];
  readonly found: readonly Difference[];
  /**
   * Differences that disappeared when the fuzzer repeated the case. For example, field managers are sorted by their
   * times in seconds, and a write that only changes this order creates a new version.
   */
  readonly unsteady: readonly Difference[];
  /** For each rule, the number of differences that the rule excuses. */
  readonly excused: ReadonlyMap<string, number>;
  readonly next: number;
}

export async function playSeed(run: Run): Promise<Outcome> {
  const { seed, kinds, schemas, samples, real, plane } = run;
  const found: Difference[] = [];
  const unsteady: Difference[] = [];
  const attempt = tryWith(real, plane, run.exact);
  const excused = new Map<string, number>();
  const broken: Case[] = [];
  let requests = 0;
  let compared = 0;
  let index = run.only ?? run.from ?? 0;
  const goesOn = (): boolean => requests < run.requests && (run.only === undefined || index === run.only);
  while (goesOn()) {
    const cases: Case[] = [];
    for (; cases.length < BATCH && goesOn(); index += 1) {
      const next = caseOf(seed, index, kinds, schemas, samples);
      cases.push(next);
      requests += requestsOf(next);
    }
    const recorded = await real.record(cases);
    const failures = await plane.compare(recorded);
    broken.push(...recorded.filter((each) => each.broken !== undefined));
    for (const each of recorded) {
      const difference = firstDifference(each, failures.get(each.name) ?? [], run.exact);
      compared += requestsOf(difference === undefined ? each : upTo(each, difference.step));
      if (difference === undefined) continue;
      const rule = ruleOf(difference);
      if (rule !== undefined) excused.set(rule.name, (excused.get(rule.name) ?? 0) + 1);
      else if (await repeats(difference, attempt)) found.push(difference);
      else unsteady.push(difference);
    }
  }
  return { requests, compared, broken, found, unsteady, excused, next: index };
}

const upTo = (whole: Case, step: number): Case => ({ ...whole, steps: whole.steps.slice(0, step + 1) });

/**
 * Returns true if a difference occurs at each repetition of its case. The first error of kube-apiserver can vary,
 * because Go reads the entries of a map in random order.
 */
async function repeats(difference: Difference, attempt: Try): Promise<boolean> {
  for (let replay = 0; replay < REPLAYS; replay += 1)
    if ((await attempt(difference.case))?.class !== difference.class) return false;
  return true;
}
