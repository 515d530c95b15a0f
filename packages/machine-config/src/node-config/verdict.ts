import { KubeletConditions } from '../constants/conditions.ts';
import type { NodeConfig } from './kind.ts';

/** Whether the status says a verdict of this generation already: saying it again would only be a write. */
export function verdictIsTold(
  { metadata, status }: Pick<NodeConfig, 'metadata' | 'status'>,
  problem: string | undefined,
): boolean {
  const { Success, Failure } = KubeletConditions;
  const last = status?.conditions?.at(-1);
  const told = last?.type === (problem === undefined ? Success : Failure) && last.message === (problem ?? 'Success');
  return told && (status?.observedGeneration ?? 0) === (metadata.generation ?? 0);
}
