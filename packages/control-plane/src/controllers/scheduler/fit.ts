import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { isNamed, isTolerated } from './node-match.ts';
import { crowded, final, type Refusal } from './refusal.ts';
import { allocatableOf, requestsOf, type Usage } from './resources.ts';

/**
 * Refuses a node with fewer free resources than the pod requests. If the request exceeds the capacity of the node, the
 * refusal is final, because the removal of other pods does not help.
 */
function lacking(pod: ApiObject, node: ApiObject, usage: Usage): Refusal | undefined {
  const allocatable = allocatableOf(node);
  if (allocatable.size === 0) return undefined;
  const name = node.metadata.name ?? '';
  const reasons: string[] = [];
  let isFinal = false;
  for (const [resource, amount] of requestsOf(pod)) {
    const offered = allocatable.get(resource) ?? (resource === 'pods' ? Number.POSITIVE_INFINITY : 0);
    if (amount === 0 || usage.used(name, resource) + amount <= offered) continue;
    reasons.push(resource === 'pods' ? 'Too many pods' : `Insufficient ${resource}`);
    isFinal ||= resource !== 'pods' && amount > offered;
  }
  return reasons.length === 0 ? undefined : { reasons, isFinal };
}

/** Returns the reason why a node is not suitable: the message of the first filter in kube-scheduler that fails. */
export function obstacle(pod: ApiObject, node: ApiObject, usage: Usage): Refusal | undefined {
  if (look(node, 'spec').unschedulable === true && !isTolerated(pod, node)) return final('node(s) were unschedulable');
  if (!isTolerated(pod, node)) return final('node(s) had untolerated taint(s)');
  if (!isNamed(pod, node)) return final("node(s) didn't match Pod's node affinity/selector");
  if (!usage.hasPorts(pod, node.metadata.name ?? '')) {
    return crowded("node(s) didn't have free ports for the requested pod ports");
  }
  return lacking(pod, node, usage);
}
