import { KubeletConditions } from '../constants/conditions.ts';
import type { ConfigCondition } from '../kinds/shared.ts';

const REMEMBERED = 3;

/**
 * Adds a result to the conditions of a KubeletConfig.
 * @param problem the reason of the refusal, or undefined if the object was accepted
 * @param now RFC 3339
 */
export function withVerdict(
  existing: readonly ConfigCondition[],
  problem: string | undefined,
  now: string,
): readonly ConfigCondition[] {
  const { Accepted, Success, Failure } = KubeletConditions;
  const message = problem ?? 'Success';
  const verdicts = existing.filter(({ type }) => type === Accepted);
  const last = verdicts.at(-1);
  const entry = { lastTransitionTime: now, reason: '', message };
  const same = last?.message === message;
  const next: ConfigCondition = same
    ? { ...last, lastTransitionTime: now }
    : { type: Accepted, status: problem === undefined ? 'True' : 'False', ...entry };
  const kept = [...(same ? verdicts.slice(0, -1) : verdicts), next].slice(-REMEMBERED);
  return [...kept, { type: problem === undefined ? Success : Failure, status: 'True', ...entry }];
}
