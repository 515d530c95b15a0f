import { invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { selectorOf } from '../../registry/label-selector.ts';
import { qualifiedNameProblems } from '../../registry/names.ts';
import type { StatusCause } from '../../status.ts';
import { child, items, labels, look, type Plain, strings, text } from '../plain.ts';
import { defaultPodSpec } from '../pod/defaults.ts';
import { podSpecCauses } from '../pod/validate.ts';

/** Defaults of the pod template in `holder.template`. */
export function defaultTemplate(holder: Plain): void {
  defaultPodSpec(child(child(holder, 'template'), 'spec'), true);
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Causes that a label selector gives by itself. */
export function selectorCauses(selector: unknown, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const key of Object.keys(labels(selector, 'matchLabels'))) {
    for (const problem of qualifiedNameProblems(key)) causes.push(invalidValue(`${path}.matchLabels`, key, problem));
  }
  for (const [index, expression] of items(selector, 'matchExpressions').entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const operator = text(expression, 'operator');
    const values = strings(expression, 'values');
    const needsValues = operator === 'In' || operator === 'NotIn';
    if (!OPERATORS.includes(operator)) {
      causes.push(invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
    } else if (needsValues && values.length === 0) {
      causes.push(requiredValue(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (!needsValues && values.length > 0) {
      causes.push({
        reason: 'FieldValueForbidden',
        message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        field: `${at}.values`,
      });
    }
    const key = text(expression, 'key');
    for (const problem of qualifiedNameProblems(key)) causes.push(invalidValue(`${at}.key`, key, problem));
  }
  return causes;
}

const isEmptySelector = (selector: unknown): boolean =>
  Object.keys(labels(selector, 'matchLabels')).length === 0 && items(selector, 'matchExpressions').length === 0;

/**
 * Causes of a workload's selector and template: the selector is needed, not empty, and matches the template's labels; the pods are fine
 * and restart always.
 */
export function workloadCauses(spec: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  const { selector } = spec;
  if (selector === undefined) causes.push(requiredValue('spec.selector'));
  else {
    causes.push(...selectorCauses(selector, 'spec.selector'));
    if (isEmptySelector(selector)) {
      causes.push(invalidValue('spec.selector', selector, 'empty selector is invalid for deployment'));
    }
  }
  const meta = look(spec, 'template', 'metadata');
  const templateLabels = labels(meta, 'labels');
  const matches = selector !== undefined && selectorOf(selector)(templateLabels);
  if (!matches) {
    const shown = meta.labels ?? null;
    causes.push(invalidValue('spec.template.metadata.labels', shown, '`selector` does not match template `labels`'));
  }
  causes.push(...templateCauses(spec, ['Always']));
  return causes;
}

/** Causes of the pods in a template; `policies`: the restart policies that the workload allows. */
export function templateCauses(spec: Plain, policies: readonly string[]): StatusCause[] {
  const podSpec = look(spec, 'template', 'spec');
  const causes = podSpecCauses(podSpec, 'spec.template.spec');
  const policy = text(podSpec, 'restartPolicy');
  if (!policies.includes(policy)) {
    causes.push(unsupportedValue('spec.template.spec.restartPolicy', policy, policies));
  }
  return causes;
}

/** `1`, `"25%"`: whether the value is a whole number or percentage of zero or more. */
export function intOrPercentCauses(field: string, value: unknown): StatusCause[] {
  if (typeof value === 'number') {
    return value < 0 ? [invalidValue(field, value, 'must be greater than or equal to 0')] : [];
  }
  if (typeof value !== 'string') return [];
  if (/^[0-9]+%$/.test(value)) return [];
  return [
    invalidValue(
      field,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ),
  ];
}

/** Whether an int-or-percent is nothing. */
export const isNothing = (value: unknown): boolean => value === 0 || value === '0%';
