import type { Outcome } from '../histories/outcome.ts';
import { type Case, playCase } from '../suites/suites.ts';
import type { Failure } from './replay.ts';
import { shrink } from './shrink.ts';

/** The verdict of a worker about a case. */
export interface Verdict {
  readonly one: Case;
  /** Present after a violation: the fewest acts with the same violation. */
  readonly failure?: Failure;
}

/** The text of a violation without names, numbers and times. A shrunk history must have the same violation. */
const kindOf = (violation: string): string =>
  violation
    .replace(/[a-z0-9]+(-[a-z0-9]+)+/g, '_')
    .replace(/\d+/g, '0')
    .slice(0, 60);

/**
 * Runs a case, and shrinks a failing history.
 * @param most Maximum number of histories to run for shrinking.
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
