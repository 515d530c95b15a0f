import { KubeletConditions } from '../constants/conditions.ts';
import type { ConfigCondition } from '../kinds/shared.ts';

const REMEMBERED = 3;

/** Adds a result at the end of the conditions of a ContainerRuntimeConfig. */
export function withRuntimeVerdict(
  existing: readonly ConfigCondition[],
  problem: string | undefined,
  now: string,
): readonly ConfigCondition[] {
  const type = problem === undefined ? KubeletConditions.Success : KubeletConditions.Failure;
  const next = { type, status: 'True' as const, reason: '', message: problem ?? 'Success', lastTransitionTime: now };
  const last = existing.at(-1);
  const same = last?.type === next.type && last.message === next.message;
  return [...(same ? existing.slice(0, -1) : existing), next].slice(-REMEMBERED);
}
