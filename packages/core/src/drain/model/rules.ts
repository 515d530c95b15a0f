import type { DrainRule } from '../../settings/drain-rules.ts';
import type { DrainPod, PodRule } from './observation.ts';
import { verdictOf } from './pod-filters.ts';

export function ruleFor(
  rules: readonly DrainRule[],
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): PodRule | undefined {
  const rule = rules.find(({ matches }) => matches(namespace, labels));
  return rule && { name: rule.name, behavior: rule.behavior, order: rule.order };
}

const orderOf = ({ rule }: DrainPod): number => rule?.order ?? 0;

const isLeaving = (pod: DrainPod): boolean => {
  const { pod: verdict } = verdictOf(pod);
  return verdict === 'evict' || verdict === 'leaving';
};

/** Marks the pods that wait for pods with a lower order. */
export function inOrder(pods: readonly DrainPod[]): readonly DrainPod[] {
  const orders = pods.filter(isLeaving).map(orderOf);
  if (orders.every((order) => order === orders[0])) return pods;
  const first = Math.min(...orders);
  return pods.map((pod) => (orderOf(pod) > first ? withLater(pod) : pod));
}

const withLater = (pod: DrainPod): DrainPod => ({ ...pod, later: true });
