import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, labels, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { selectorForm } from '../internal/form.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

export function labelFindings(findings: Findings, map: Readonly<Record<string, string>>, at: string): void {
  for (const [key, value] of Object.entries(map)) {
    findings.problems(at, key, qualifiedNameProblems(key));
    findings.problems(at, value, labelValueProblems(String(value)));
  }
}

/** Formats a selector for an error message. */
export const shownSelector = (selector: unknown): unknown => (isRecord(selector) ? selectorForm(selector) : null);

/** Validates a label selector, as `ValidateLabelSelector` in Kubernetes. */
export function selectorCauses(selector: unknown, path: string, anyValue = false): StatusCause[] {
  const findings = new Findings();
  labelFindings(findings, labels(selector, 'matchLabels'), `${path}.matchLabels`);
  for (const [index, expression] of items(selector, 'matchExpressions').entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const operator = text(expression, 'operator');
    const values = strings(expression, 'values');
    const needsValues = operator === 'In' || operator === 'NotIn';
    if (!OPERATORS.includes(operator)) {
      findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
    } else if (needsValues && values.length === 0) {
      findings.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (!needsValues && values.length > 0) {
      findings.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
    findings.qualifiedName(`${at}.key`, text(expression, 'key'));
    for (const [position, value] of anyValue ? [] : values.entries()) {
      findings.problems(`${at}.values[${position}]`, value, labelValueProblems(value));
    }
  }
  return findings.causes;
}
