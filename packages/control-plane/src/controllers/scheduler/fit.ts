import { items, look, type Plain, strings, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allocatableOf, requestsOf, type Usage } from './resources.ts';

const UNSCHEDULABLE: Plain = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Whether a toleration covers a taint. */
export function tolerates(toleration: Plain, taint: Plain): boolean {
  const effect = text(toleration, 'effect');
  if (effect !== '' && effect !== taint.effect) return false;
  const key = text(toleration, 'key');
  if (key !== '' && key !== taint.key) return false;
  const operator = text(toleration, 'operator');
  if (operator === 'Exists') return true;
  if (operator !== '' && operator !== 'Equal') return false;
  return key !== '' && text(toleration, 'value') === text(taint, 'value');
}

const toleratesAll = (tolerations: readonly Plain[], taints: readonly Plain[]): boolean =>
  taints.every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));

/** Whether a label (or a node's name) meets one requirement of a node selector. */
function meets(requirement: Plain, value: string | undefined): boolean {
  const values = strings(requirement, 'values');
  switch (text(requirement, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

/** Whether a node meets a node selector: one of its terms in full. */
export function matchesNodeSelector(selector: unknown, node: ApiObject): boolean {
  const terms = items(selector, 'nodeSelectorTerms');
  const nodeLabels = node.metadata.labels ?? {};
  return terms.some((term) => {
    const expressions = items(term, 'matchExpressions');
    const fields = items(term, 'matchFields');
    // An empty term matches nothing.
    if (expressions.length + fields.length === 0) return false;
    return (
      expressions.every((one) => meets(one, nodeLabels[text(one, 'key')])) &&
      fields.every((one) => text(one, 'key') === 'metadata.name' && meets(one, node.metadata.name))
    );
  });
}

/** Whether a pod's node selector and required node affinity name the node. */
export function isNamed(pod: ApiObject, node: ApiObject): boolean {
  const spec = look(pod, 'spec');
  const nodeLabels = node.metadata.labels ?? {};
  for (const [label, value] of Object.entries(look(spec, 'nodeSelector'))) {
    if (nodeLabels[label] !== value) return false;
  }
  const required = look(spec, 'affinity', 'nodeAffinity').requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}

/** Whether a pod may come to a node, as far as taints go. */
export function isTolerated(pod: ApiObject, node: ApiObject): boolean {
  const spec = look(node, 'spec');
  const taints = items(spec, 'taints').filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  if (spec.unschedulable === true && !taints.some(({ key }) => key === UNSCHEDULABLE.key)) {
    taints.push(UNSCHEDULABLE);
  }
  return toleratesAll(items(look(pod, 'spec'), 'tolerations'), taints);
}

/** Resources of which the node has too little left. */
export function lacking(pod: ApiObject, node: ApiObject, usage: Usage): string[] {
  const allocatable = allocatableOf(node);
  if (allocatable.size === 0) return [];
  const name = node.metadata.name ?? '';
  const short: string[] = [];
  for (const [resource, amount] of requestsOf(pod)) {
    const offered = allocatable.get(resource) ?? (resource === 'pods' ? Number.POSITIVE_INFINITY : 0);
    if (amount > 0 && usage.used(name, resource) + amount > offered) short.push(resource);
  }
  return short;
}

/** Why a pod cannot go to a node, in the scheduler's words; undefined when it can. */
export function obstacle(pod: ApiObject, node: ApiObject, usage: Usage): string | undefined {
  if (look(node, 'spec').unschedulable === true && !isTolerated(pod, node)) return 'node(s) were unschedulable';
  if (!isTolerated(pod, node)) return 'node(s) had untolerated taint(s)';
  if (!isNamed(pod, node)) return "node(s) didn't match Pod's node affinity/selector";
  if (!usage.hasPorts(pod, node.metadata.name ?? '')) {
    return "node(s) didn't have free ports for the requested pod ports";
  }
  const [short] = lacking(pod, node, usage);
  if (short === undefined) return undefined;
  return short === 'pods' ? 'Too many pods' : `Insufficient ${short}`;
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function unschedulableMessage(nodes: number, reasons: readonly string[]): string {
  if (nodes === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`;
}
