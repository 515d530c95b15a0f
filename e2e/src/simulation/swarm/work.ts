import type { Outcome } from '../histories/outcome.ts';
import { type Case, playCase } from '../suites/suites.ts';
import type { Failure } from './replay.ts';
import { shrink } from './shrink.ts';

export interface Verdict {
  readonly one: Case;
  /** The failure with the fewest actions that still cause the violation. */
  readonly failure?: Failure;
}

/** Returns the text of a violation without its names, numbers and times. */
const kindOf = (violation: string): string =>
  violation
    .replace(/[a-z0-9]+(-[a-z0-9]+)+/g, '_')
    .replace(/\d+/g, '0')
    .slice(0, 60);

/**
 * Runs a case, and shrinks its history if it fails.
 * @param most The maximum number of histories for the shrinking.
 */
export async function verify(
  one: Case,
  play: (one: Case) => Promise<Outcome> = playCase,
  most?: number,
): Promise<Verdict> {
  const { violations, plan } = await play(most === 0 ? { ...one, endsAtViolation: true } : one);
  const [first] = violations;
  if (first === undefined) return { one };
  if (most === 0) return { one, failure: { one, violations } };
  const kind = kindOf(first);
  const stillFails = async (part: Outcome['plan']): Promise<boolean> =>
    (await play({ ...one, plan: part })).violations.some((text) => kindOf(text) === kind);
  const fewest = await shrink(plan, stillFails, most);
  const shown = { ...one, plan: fewest };
  return { one, failure: { one: shown, violations: (await play(shown)).violations } };
}
