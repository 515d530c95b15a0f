import type { Outcome } from '../histories/outcome.ts';
import { type Case, playCase } from '../suites.ts';
import type { Failure } from './replay.ts';
import { shrink } from './shrink.ts';

/** What a worker says of a case. */
export interface Verdict {
  readonly one: Case;
  /** Present when a rule was broken: the fewest acts that show it. */
  readonly failure?: Failure;
}

/** A rule's own words, without names, numbers and times: what shrinks may not turn into another violation. */
const kindOf = (violation: string): string =>
  violation
    .replace(/[a-z0-9]+(-[a-z0-9]+)+/g, '_')
    .replace(/\d+/g, '0')
    .slice(0, 60);

/**
 * Plays a case; a failing history is shrunk.
 * @param most How many histories may be played to shrink it.
 */
export async function verify(
  one: Case,
  play: (one: Case) => Promise<Outcome> = playCase,
  most?: number,
): Promise<Verdict> {
  const { violations, plan } = await play(one);
  const [first] = violations;
  if (first === undefined) return { one };
  const kind = kindOf(first);
  const stillFails = async (part: Outcome['plan']): Promise<boolean> =>
    (await play({ ...one, plan: part })).violations.some((text) => kindOf(text) === kind);
  const fewest = await shrink(plan, stillFails, most);
  const shown = { ...one, plan: fewest };
  return { one, failure: { one: shown, violations: (await play(shown)).violations } };
}
