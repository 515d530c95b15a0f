import { podAmounts } from '../../apimachinery/objects/amounts.ts';
import { isNumber } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, strings, text } from '../../apimachinery/objects/plain.ts';

interface Requirement {
  readonly scope: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function requirementsOf(quota: ApiObject): Requirement[] {
  const spec = look(quota, 'spec');
  return [
    ...strings(spec, 'scopes').map((scope) => ({ scope, operator: 'Exists', values: [] })),
    ...items(look(spec, 'scopeSelector'), 'matchExpressions').map((expression) => ({
      scope: text(expression, 'scopeName'),
      operator: text(expression, 'operator'),
      values: strings(expression, 'values'),
    })),
  ];
}

const isBestEffort = (pod: ApiObject): boolean =>
  [podAmounts(pod, 'requests'), podAmounts(pod, 'limits')].every(
    (amounts) => !['cpu', 'memory'].some((name) => (amounts.get(name)?.nanos ?? 0n) > 0n),
  );

function reachesAcrossNamespaces(pod: ApiObject): boolean {
  const affinity = look(pod, 'spec', 'affinity');
  return ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const rules = look(affinity, kind);
    const terms = [
      ...items(rules, 'requiredDuringSchedulingIgnoredDuringExecution'),
      ...items(rules, 'preferredDuringSchedulingIgnoredDuringExecution').map((term) => look(term, 'podAffinityTerm')),
    ];
    return terms.some((term) => strings(term, 'namespaces').length > 0 || term.namespaceSelector !== undefined);
  });
}

function holds({ scope, operator, values }: Requirement, pod: ApiObject): boolean {
  const spec = look(pod, 'spec');
  switch (scope) {
    case 'Terminating':
      return isNumber(spec.activeDeadlineSeconds);
    case 'NotTerminating':
      return !isNumber(spec.activeDeadlineSeconds);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'CrossNamespacePodAffinity':
      return reachesAcrossNamespaces(pod);
    case 'PriorityClass': {
      const name = text(spec, 'priorityClassName');
      if (operator === 'In') return values.includes(name);
      if (operator === 'NotIn') return name !== '' && !values.includes(name);
      return (name !== '') === (operator !== 'DoesNotExist');
    }
    default:
      return false;
  }
}

/** Scopes apply only to pods, so a quota with scopes counts no other resource. */
export function counts(quota: ApiObject, group: string, plural: string, object: ApiObject): boolean {
  const requirements = requirementsOf(quota);
  if (requirements.length === 0) return true;
  return group === '' && plural === 'pods' && requirements.every((requirement) => holds(requirement, object));
}
