import { conditionOf } from '../conditions/conditions.ts';
import { KubeletConditions } from '../constants/conditions.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { NodeConfig, NodeConfigKind } from './kind.ts';
import type { NodeConfigVerdict } from './plan.ts';

type Reported = Pick<NodeConfig, 'metadata' | 'status'>;
const { UnknownFields, Success, Failure } = KubeletConditions;

/** Returns true if the condition for the current generation already contains the result. */
export const isVerdictReported = (config: Reported, verdict: NodeConfigVerdict): boolean =>
  isProblemReported(config, verdict.problem) && isIgnoredReported(config, verdict.ignored);

/**
 * Returns true if the condition for the current generation reports the problem. If `problem` is undefined, the
 * condition must report a success.
 */
export function isProblemReported({ metadata, status }: Reported, problem: string | undefined): boolean {
  const last = status?.conditions?.at(-1);
  const reported =
    last?.type === (problem === undefined ? Success : Failure) && last.message === (problem ?? 'Success');
  return reported && (status?.observedGeneration ?? 0) === (metadata.generation ?? 0);
}

export const isIgnoredReported = ({ status }: Reported, ignored: string | undefined): boolean =>
  conditionOf(status?.conditions, UnknownFields)?.message === ignored;

export function verdictConditions<T extends NodeConfig>(
  kind: NodeConfigKind<T>,
  { status }: Reported,
  { problem, ignored }: NodeConfigVerdict,
  now: string,
): readonly ConfigCondition[] {
  const old = conditionOf(status?.conditions, UnknownFields);
  const others = (status?.conditions ?? []).filter(({ type }) => type !== UnknownFields);
  const verdicts = kind.withVerdict(others, problem, now);
  if (ignored === undefined) return verdicts;
  const lastTransitionTime = old?.lastTransitionTime ?? now;
  const unknown = { type: UnknownFields, status: 'True' as const, reason: 'Ignored', message: ignored };
  return [{ ...unknown, lastTransitionTime }, ...verdicts];
}
