import type { Findings } from '../../apimachinery/errors/findings.ts';
import { qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { internalForm } from '../internal/form.ts';
import { countIndexes } from './job-indexes.ts';

const MOST_INDEXES = 100_000;
const MOST_RULES = 20;
const MOST_CODES = 255;
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const STATUSES = ['False', 'True', 'Unknown'];

export function indexFindings(findings: Findings, spec: Plain, path: string): void {
  const mode = spec.completionMode;
  const completions = number(spec, 'completions');
  if (mode !== undefined) {
    findings.oneOf(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']);
    if (mode === 'Indexed') {
      if (completions === undefined) {
        findings.required(`${path}.completions`, 'when completion mode is Indexed');
      }
      const parallelism = number(spec, 'parallelism') ?? 0;
      if (parallelism > MOST_INDEXES) {
        const why = `must be less than or equal to ${MOST_INDEXES} when completion mode is Indexed`;
        findings.invalid(`${path}.parallelism`, parallelism, why);
      }
    }
  }
  const most = number(spec, 'maxFailedIndexes');
  const isPlainMode = mode === undefined || mode === 'NonIndexed';
  if (spec.backoffLimitPerIndex !== undefined && isPlainMode) {
    findings.invalid(`${path}.backoffLimitPerIndex`, spec.backoffLimitPerIndex, 'requires indexed completion mode');
  }
  if (most === undefined) return;
  const field = `${path}.maxFailedIndexes`;
  if (spec.backoffLimitPerIndex === undefined) {
    findings.required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified');
  }
  if (isPlainMode) findings.invalid(field, most, 'requires indexed completion mode');
  else if (completions !== undefined && most > completions) {
    findings.invalid(field, most, 'must be less than or equal to completions');
  }
  findings.notNegative(field, most);
}

function exitCodeFindings(findings: Findings, rule: Plain, spec: Plain, at: string): void {
  const operator = text(rule, 'operator');
  if (operator === '') findings.required(`${at}.operator`, 'valid values: ["In" "NotIn"]');
  else findings.oneOf(`${at}.operator`, operator, ['In', 'NotIn']);
  const name = rule.containerName;
  const podSpec = look(spec, 'template', 'spec');
  const containers = [...items(podSpec, 'containers'), ...items(podSpec, 'initContainers')];
  if (typeof name === 'string' && !containers.some((container) => container.name === name)) {
    const why = 'must be one of the container or initContainer names in the pod template';
    findings.invalid(`${at}.containerName`, name, why);
  }
  const codes = Array.isArray(rule.values) ? rule.values : [];
  const field = `${at}.values`;
  if (codes.length === 0) findings.invalid(field, given(rule, 'values'), 'at least one value is required');
  else if (codes.length > MOST_CODES) findings.tooLong(field, MOST_CODES);
  const seen = new Set<unknown>();
  let ordered = true;
  for (const [index, code] of codes.entries()) {
    if (operator === 'In' && code === 0) {
      findings.invalid(`${field}[${index}]`, code, 'must not be 0 for the In operator');
    }
    if (seen.has(code)) findings.duplicate(`${field}[${index}]`, code);
    seen.add(code);
    if (index > 0 && Number(codes[index - 1]) > Number(code)) ordered = false;
  }
  if (!ordered) findings.invalid(field, codes, 'must be ordered');
}

/** Validates the pod failure policy (`validatePodFailurePolicy`). */
export function failurePolicyFindings(findings: Findings, spec: Plain, path: string): void {
  const at = `${path}.podFailurePolicy`;
  if (look(spec, 'template', 'spec').restartPolicy === 'OnFailure') {
    const shown = text(look(spec, 'template', 'spec'), 'restartPolicy');
    findings.invalid(
      `${path}.template.spec.restartPolicy`,
      shown,
      'only "Never" is supported when podFailurePolicy is specified',
    );
  }
  const rules = items(spec.podFailurePolicy, 'rules');
  if (rules.length > MOST_RULES) findings.tooLong(`${at}.rules`, MOST_RULES);
  for (const [index, rule] of rules.entries()) {
    const here = `${at}.rules[${index}]`;
    const action = text(rule, 'action');
    if (action === '') {
      findings.required(`${here}.action`, 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]');
    } else if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) {
      findings.invalid(`${here}.action`, action, 'requires the backoffLimitPerIndex to be set');
    } else findings.oneOf(`${here}.action`, action, ACTIONS);
    const conditions = items(rule, 'onPodConditions');
    if (isRecord(rule.onExitCodes)) exitCodeFindings(findings, rule.onExitCodes, spec, `${here}.onExitCodes`);
    if (conditions.length > MOST_RULES) findings.tooLong(`${here}.onPodConditions`, MOST_RULES);
    for (const [position, pattern] of conditions.entries()) {
      const field = `${here}.onPodConditions[${position}]`;
      const type = text(pattern, 'type');
      findings.problems(`${field}.type`, type, qualifiedNameProblems(type));
      const status = text(pattern, 'status');
      if (status === '') findings.required(`${field}.status`, 'valid values: ["False" "True" "Unknown"]');
      else findings.oneOf(`${field}.status`, status, STATUSES);
    }
    const shown = internalForm('PodFailurePolicyRule', rule);
    if (rule.onExitCodes !== undefined && conditions.length > 0) {
      findings.invalid(here, shown, 'specifying both OnExitCodes and OnPodConditions is not supported');
    }
    if (rule.onExitCodes === undefined && conditions.length === 0) {
      findings.add([
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: specifying one of OnExitCodes and OnPodConditions is required',
          field: here,
        },
      ]);
    }
  }
}

export function successPolicyFindings(findings: Findings, spec: Plain, path: string): void {
  const at = `${path}.successPolicy`;
  const policy = look(spec, 'successPolicy');
  if (spec.completionMode !== 'Indexed') {
    findings.invalid(at, internalForm('SuccessPolicy', policy), 'requires indexed completion mode');
    return;
  }
  const rules = items(policy, 'rules');
  const field = `${at}.rules`;
  if (rules.length === 0) {
    findings.required(field, 'at least one rules must be specified when the successPolicy is specified');
  }
  if (rules.length > MOST_RULES) findings.tooLong(field, MOST_RULES);
  const completions = number(spec, 'completions') ?? 0;
  for (const [index, rule] of rules.entries()) {
    const here = `${field}[${index}]`;
    const count = number(rule, 'succeededCount');
    const list = rule.succeededIndexes;
    if (count === undefined && list === undefined) {
      findings.required(here, 'at least one of succeededCount or succeededIndexes must be specified');
    }
    let named: number | undefined;
    if (typeof list === 'string') {
      try {
        named = countIndexes(list, completions);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        findings.invalid(`${here}.succeededIndexes`, list, `error parsing succeededIndexes: ${error.message}`);
        named = 0;
      }
    }
    if (count === undefined) continue;
    findings.notNegative(`${here}.succeededCount`, count);
    if (count > completions) {
      const why = `must be less than or equal to ${completions} (the number of specified completions)`;
      findings.invalid(`${here}.succeededCount`, count, why);
    }
    if (named !== undefined && count > named) {
      const why = `must be less than or equal to ${named} (the number of indexes in the specified succeededIndexes field)`;
      findings.invalid(`${here}.succeededCount`, count, why);
    }
  }
}

export function replacementFindings(findings: Findings, spec: Plain, path: string): void {
  const policy = spec.podReplacementPolicy;
  if (policy === undefined) return;
  const field = `${path}.podReplacementPolicy`;
  if (spec.podFailurePolicy !== undefined) findings.oneOf(field, policy, ['Failed']);
  else findings.oneOf(field, policy, ['Failed', 'TerminatingOrFailed']);
}

export function managedByFindings(findings: Findings, spec: Plain, path: string): void {
  const managedBy = spec.managedBy;
  if (typeof managedBy !== 'string') return;
  const field = `${path}.managedBy`;
  findings.domainPath(field, managedBy);
  if (managedBy.length > 63) findings.tooLong(field, 63);
}
