import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';

const UNSCHEDULABLE: Plain = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

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

/** Returns whether a node meets all requirements of at least one term of a node selector. */
export function matchesNodeSelector(selector: unknown, node: ApiObject): boolean {
  const terms = items(selector, 'nodeSelectorTerms');
  const nodeLabels = node.metadata.labels ?? {};
  return terms.some((term) => {
    const expressions = items(term, 'matchExpressions');
    const fields = items(term, 'matchFields');
    // An empty term of a node selector matches no node.
    if (expressions.length + fields.length === 0) return false;
    return (
      expressions.every((one) => meets(one, nodeLabels[text(one, 'key')])) &&
      fields.every((one) => text(one, 'key') === 'metadata.name' && meets(one, node.metadata.name))
    );
  });
}

export function isNamed(pod: ApiObject, node: ApiObject): boolean {
  const spec = look(pod, 'spec');
  const nodeLabels = node.metadata.labels ?? {};
  for (const [label, value] of Object.entries(look(spec, 'nodeSelector'))) {
    if (nodeLabels[label] !== value) return false;
  }
  const required = look(spec, 'affinity', 'nodeAffinity').requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}

export function isTolerated(pod: ApiObject, node: ApiObject): boolean {
  const spec = look(node, 'spec');
  const taints = items(spec, 'taints').filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  if (spec.unschedulable === true && !taints.some(({ key }) => key === UNSCHEDULABLE.key)) {
    taints.push(UNSCHEDULABLE);
  }
  return toleratesAll(items(look(pod, 'spec'), 'tolerations'), taints);
}

/** Returns the node names that the node affinity of a pod requires. */
export function nodesNamed(pod: ApiObject): ReadonlySet<string> | undefined {
  const required = look(pod, 'spec', 'affinity', 'nodeAffinity').requiredDuringSchedulingIgnoredDuringExecution;
  const terms = items(required, 'nodeSelectorTerms');
  if (terms.length === 0) return undefined;
  const named = new Set<string>();
  for (const term of terms) {
    const lists = items(term, 'matchFields')
      .filter((field) => text(field, 'key') === 'metadata.name' && text(field, 'operator') === 'In')
      .map((field) => strings(field, 'values'));
    const [first, ...others] = lists;
    if (first === undefined) return undefined;
    for (const name of first) if (others.every((list) => list.includes(name))) named.add(name);
  }
  return named;
}
