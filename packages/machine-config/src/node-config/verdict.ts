import { conditionOf } from '../conditions/conditions.ts';
import { KubeletConditions } from '../constants/conditions.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { NodeConfig, NodeConfigKind } from './kind.ts';
import type { NodeConfigVerdict } from './plan.ts';

type Told = Pick<NodeConfig, 'metadata' | 'status'>;
const { UnknownFields, Success, Failure } = KubeletConditions;

/** Whether the status says of this generation already what came of it: saying it again would only be a write. */
export const verdictIsTold = (config: Told, verdict: NodeConfigVerdict): boolean =>
  problemIsTold(config, verdict.problem) && ignoredIsTold(config, verdict.ignored);

/** Whether the status says of this generation why it was refused, or that it was not. */
export function problemIsTold({ metadata, status }: Told, problem: string | undefined): boolean {
  const last = status?.conditions?.at(-1);
  const told = last?.type === (problem === undefined ? Success : Failure) && last.message === (problem ?? 'Success');
  return told && (status?.observedGeneration ?? 0) === (metadata.generation ?? 0);
}

/** Whether the status says which fields nobody reads. */
export const ignoredIsTold = ({ status }: Told, ignored: string | undefined): boolean =>
  conditionOf(status?.conditions, UnknownFields)?.message === ignored;

/** The conditions after a verdict. That of unknown fields stands first, and only while there are any. */
export function verdictConditions<T extends NodeConfig>(
  kind: NodeConfigKind<T>,
  { status }: Told,
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
