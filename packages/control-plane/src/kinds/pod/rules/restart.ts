import { tooMany } from '../../../apimachinery/errors/causes.ts';
import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, type Plain, text } from '../../../apimachinery/objects/plain.ts';

const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const ACTIONS = ['Restart', 'RestartAllContainers'];
const OPERATORS = ['In', 'NotIn'];
const MOST_RULES = 20;
const MOST_VALUES = 255;

/** Validates the restart policy of a container, as `validateContainerRestartPolicy` in Kubernetes. */
export function restartFindings(findings: Findings, container: Plain, at: string): void {
  const rules = items(container, 'restartPolicyRules');
  if (container.restartPolicy === undefined) {
    if (rules.length === 0) return;
    findings.required(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  } else findings.oneOf(`${at}.restartPolicy`, container.restartPolicy, RESTART_POLICIES);
  if (rules.length > MOST_RULES) findings.add([tooMany(`${at}.restartPolicyRules`, rules.length, MOST_RULES)]);
  for (const [index, rule] of rules.entries()) {
    const here = `${at}.restartPolicyRules[${index}]`;
    findings.oneOf(`${here}.action`, text(rule, 'action'), ACTIONS);
    const codes = rule.exitCodes;
    if (!isRecord(codes)) {
      findings.required(`${here}.exitCodes`, 'must be specified');
      continue;
    }
    findings.oneOf(`${here}.exitCodes.operator`, text(codes, 'operator'), OPERATORS);
    const count = Array.isArray(codes.values) ? codes.values.length : 0;
    if (count > MOST_VALUES) findings.add([tooMany(`${here}.exitCodes.values`, count, MOST_VALUES)]);
  }
}

/** Validates the restart policy of an init container (`validateInitContainerRestartPolicy`). */
export function initRestartFindings(findings: Findings, container: Plain, at: string): void {
  if (container.restartPolicy !== undefined) restartFindings(findings, container, at);
  else if (items(container, 'restartPolicyRules').length > 0) {
    findings.required(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  }
}
