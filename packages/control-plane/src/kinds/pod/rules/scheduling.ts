import type { Findings } from '../../../apimachinery/errors/findings.ts';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '../../../apimachinery/errors/names.ts';
import { notSupported } from '../../../apimachinery/errors/schema-causes.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, labels, look, number, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { selectorCauses } from '../../base/selector.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function nodeExpression(findings: Findings, expression: Plain, at: string, lenient: boolean): void {
  const operator = text(expression, 'operator');
  const values = strings(expression, 'values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      findings.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      findings.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) {
      findings.required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
  } else findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
  findings.qualifiedName(`${at}.key`, text(expression, 'key'));
  if (lenient) return;
  for (const [index, value] of values.entries()) {
    findings.problems(`${at}.values[${index}]`, value, labelValueProblems(value));
  }
}

function nodeField(findings: Findings, requirement: Plain, at: string): void {
  const operator = text(requirement, 'operator');
  const values = strings(requirement, 'values');
  if (operator !== 'In' && operator !== 'NotIn') {
    findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
  } else if (values.length !== 1) {
    findings.required(
      `${at}.values`,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  }
  const key = text(requirement, 'key');
  if (key !== 'metadata.name') {
    findings.invalid(`${at}.key`, key, 'not a valid field selector key');
    return;
  }
  for (const [index, value] of values.entries()) {
    findings.problems(`${at}.values[${index}]`, value, subdomainProblems(value));
  }
}

function nodeTerm(findings: Findings, term: unknown, at: string, lenient = false): void {
  for (const [index, one] of items(term, 'matchExpressions').entries()) {
    nodeExpression(findings, one, `${at}.matchExpressions[${index}]`, lenient);
  }
  for (const [index, one] of items(term, 'matchFields').entries()) {
    nodeField(findings, one, `${at}.matchFields[${index}]`);
  }
}

export function nodeSelectorFindings(findings: Findings, selector: unknown, at: string): void {
  const terms = items(selector, 'nodeSelectorTerms');
  if (terms.length === 0) findings.required(`${at}.nodeSelectorTerms`, 'must have at least one node selector term');
  for (const [index, term] of terms.entries()) nodeTerm(findings, term, `${at}.nodeSelectorTerms[${index}]`);
}

function weight(findings: Findings, term: Plain, at: string): void {
  const value = number(term, 'weight') ?? 0;
  if (value <= 0 || value > 100) findings.invalid(`${at}.weight`, value, 'must be in the range 1-100');
}

function labelKeyFindings(findings: Findings, holder: Plain, at: string, lists: readonly string[]): void {
  const selector = holder.labelSelector;
  const labelKeys = new Set(Object.keys(labels(selector, 'matchLabels')));
  for (const list of lists) {
    const keys = strings(holder, list);
    if (keys.length > 0 && !isRecord(selector)) {
      findings.forbidden(`${at}.${list}`, 'must not be specified when labelSelector is not set');
      continue;
    }
    for (const [index, key] of keys.entries()) {
      findings.problems(`${at}.${list}[${index}]`, key, qualifiedNameProblems(key));
    }
  }
  const own = strings(holder, 'matchLabelKeys');
  for (const { key } of items(selector, 'matchExpressions')) {
    const name = String(key);
    const index = own.indexOf(name);
    if (index !== -1 && labelKeys.has(name)) {
      findings.invalid(`${at}[${index}]`, name, 'exists in both matchLabelKeys and labelSelector');
    }
    labelKeys.add(name);
  }
  const others = new Set(lists.includes('mismatchLabelKeys') ? strings(holder, 'mismatchLabelKeys') : []);
  for (const [index, key] of own.entries()) {
    if (others.has(key)) {
      findings.invalid(`${at}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
    }
  }
}

function podTerm(findings: Findings, term: Plain, at: string): void {
  for (const field of ['labelSelector', 'namespaceSelector']) {
    if (term[field] !== undefined) findings.add(selectorCauses(term[field], `${at}.${field}`));
  }
  for (const name of strings(term, 'namespaces')) findings.problems(`${at}.namespace`, name, labelProblems(name));
  labelKeyFindings(findings, term, at, ['matchLabelKeys', 'mismatchLabelKeys']);
  const key = text(term, 'topologyKey');
  if (key === '') findings.required(`${at}.topologyKey`, 'can not be empty');
  findings.qualifiedName(`${at}.topologyKey`, key);
}

/** Validates the affinity of a pod, as `validateAffinity` in Kubernetes. */
export function affinityFindings(findings: Findings, affinity: unknown, at: string): void {
  if (!isRecord(affinity)) return;
  const { nodeAffinity } = affinity;
  if (isRecord(nodeAffinity)) {
    const here = `${at}.nodeAffinity`;
    if (nodeAffinity[REQUIRED] !== undefined) {
      nodeSelectorFindings(findings, nodeAffinity[REQUIRED], `${here}.${REQUIRED}`);
    }
    for (const [index, term] of items(nodeAffinity, PREFERRED).entries()) {
      weight(findings, term, `${here}.${PREFERRED}[${index}]`);
      nodeTerm(findings, term.preference, `${here}.${PREFERRED}[${index}].preference`, true);
    }
  }
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    for (const [index, term] of items(affinity[name], REQUIRED).entries()) {
      podTerm(findings, term, `${at}.${name}.${REQUIRED}[${index}]`);
    }
    for (const [index, term] of items(affinity[name], PREFERRED).entries()) {
      const here = `${at}.${name}.${PREFERRED}[${index}]`;
      weight(findings, term, here);
      podTerm(findings, look(term, 'podAffinityTerm'), `${here}.podAffinityTerm`);
    }
  }
}

/** Validates topology spread constraints, as `validateTopologySpreadConstraints` in Kubernetes. */
export function spreadFindings(findings: Findings, spec: Plain, at: string): void {
  const constraints = items(spec, 'topologySpreadConstraints');
  for (const [index, constraint] of constraints.entries()) {
    const here = `${at}[${index}]`;
    const skew = number(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) findings.invalid(`${here}.maxSkew`, skew, 'must be greater than zero');
    const key = text(constraint, 'topologyKey');
    if (key === '') findings.required(`${here}.topologyKey`, 'can not be empty');
    const action = text(constraint, 'whenUnsatisfiable');
    findings.oneOf(`${here}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']);
    const again = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === key && other.whenUnsatisfiable === action);
    if (again) findings.duplicate(`${here}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${action}}`);
    const domains = number(constraint, 'minDomains');
    if (domains !== undefined) {
      const field = `${here}.minDomains`;
      if (domains <= 0) findings.invalid(field, domains, 'must be greater than zero');
      if (action !== 'DoNotSchedule') {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
        findings.invalid(field, domains, why);
      }
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) {
      if (constraint[policy] !== undefined) {
        findings.oneOf(`${here}.${policy}`, constraint[policy], ['Honor', 'Ignore']);
      }
    }
    labelKeyFindings(findings, constraint, here, ['matchLabelKeys']);
    if (constraint.labelSelector !== undefined) {
      findings.add(selectorCauses(constraint.labelSelector, `${here}.labelSelector`));
    }
  }
}

/** Validates tolerations, as `ValidateTolerations` in Kubernetes. */
export function tolerationFindings(findings: Findings, tolerations: readonly Plain[], path: string): void {
  for (const [index, toleration] of tolerations.entries()) {
    const at = `${path}[${index}]`;
    const key = text(toleration, 'key');
    const operator = text(toleration, 'operator');
    const effect = text(toleration, 'effect');
    const value = text(toleration, 'value');
    if (key !== '') findings.qualifiedName(`${at}.key`, key);
    if (key === '' && operator !== 'Exists') {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      findings.invalid(`${at}.operator`, operator, why);
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      findings.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    if (operator === '' || operator === 'Equal') {
      const problems = labelValueProblems(value);
      if (problems.length > 0) findings.invalid(`${at}.operator`, value, problems.join(';'));
    } else if (operator === 'Exists') {
      if (value !== '') findings.invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'");
    } else if (operator === 'Lt' || operator === 'Gt') {
      // As in kube-apiserver, the error lists operators whose feature gate is off by default.
      findings.add([notSupported(`${at}.operator`, operator, ['Equal', 'Exists', 'Lt', 'Gt'])]);
    } else findings.oneOf(`${at}.operator`, operator, ['Equal', 'Exists']);
    if (effect !== '') findings.oneOf(`${at}.effect`, effect, EFFECTS);
  }
}
