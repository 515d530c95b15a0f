import { unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { containerResourceName } from '../pod/rules/resources.ts';

const METRIC_TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
const POLICY_TYPES = ['Percent', 'Pods'];
const SELECT_POLICIES = ['Disabled', 'Max', 'Min'];
const TARGET_TYPES = ['Utilization', 'Value', 'AverageValue'];
const LONGEST_PERIOD = 1800;
const LONGEST_WINDOW = 3600;

function versionProblem(version: string, needsGroup: boolean): string | undefined {
  const parts = version === '' || version === '/' ? [] : version.split('/');
  if (parts.length > 2) return `unexpected GroupVersion string: ${version}`;
  return needsGroup && parts.length < 2 ? 'apiVersion must specify API group' : undefined;
}

function referenceFindings(findings: Findings, reference: Plain, at: string, needsGroup: boolean): void {
  for (const field of ['kind', 'name']) {
    const value = text(reference, field);
    if (value === '') findings.required(`${at}.${field}`);
    else findings.problems(`${at}.${field}`, value, pathSegmentProblems(value));
  }
  const version = text(reference, 'apiVersion');
  const problem = versionProblem(version, needsGroup);
  if (problem !== undefined) findings.invalid(`${at}.apiVersion`, version, problem);
}

function targetFindings(findings: Findings, target: Plain, at: string): void {
  const type = text(target, 'type');
  if (type === '') findings.required(`${at}.type`, 'must specify a metric target type');
  if (!TARGET_TYPES.includes(type)) {
    findings.invalid(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue');
  }
  for (const field of ['value', 'averageValue']) {
    const amount = target[field];
    if (amount !== undefined && quantityNanos(amount) <= 0n)
      findings.invalid(`${at}.${field}`, amount, 'must be positive');
  }
  const share = number(target, 'averageUtilization');
  if (share !== undefined && share < 1) findings.invalid(`${at}.averageUtilization`, share, 'must be greater than 0');
}

function identifierFindings(findings: Findings, source: Plain, at: string): void {
  const name = text(look(source, 'metric'), 'name');
  if (name === '') findings.required(`${at}.metric.name`, 'must specify a metric name');
  else findings.problems(`${at}.metric.name`, name, pathSegmentProblems(name));
}

type Source = (findings: Findings, source: Plain, at: string) => void;

function resourceFindings(findings: Findings, source: Plain, at: string): void {
  const target = look(source, 'target');
  targetFindings(findings, target, `${at}.target`);
  const { averageUtilization, averageValue } = target;
  if (averageUtilization === undefined && averageValue === undefined) {
    findings.required(`${at}.target.averageUtilization`, 'must set either a target raw value or a target utilization');
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    findings.forbidden(`${at}.target.averageValue`, 'may not set both a target raw value and a target utilization');
  }
}

/** The function validates only the first source of an entry. */
const SOURCES: readonly (readonly [string, Source])[] = [
  [
    'object',
    (findings, source, at) => {
      referenceFindings(findings, look(source, 'describedObject'), `${at}.describedObject`, false);
      identifierFindings(findings, source, at);
      const target = look(source, 'target');
      targetFindings(findings, target, `${at}.target`);
      if (target.value !== undefined || target.averageValue !== undefined) return;
      findings.required(`${at}.target.averageValue`, 'must set either a target value or averageValue');
    },
  ],
  [
    'external',
    (findings, source, at) => {
      identifierFindings(findings, source, at);
      const target = look(source, 'target');
      targetFindings(findings, target, `${at}.target`);
      const { value, averageValue } = target;
      if (value === undefined && averageValue === undefined) {
        findings.required(`${at}.target.averageValue`, 'must set either a target value for metric or a per-pod target');
      }
      if (value !== undefined && averageValue !== undefined) {
        findings.forbidden(`${at}.target.value`, 'may not set both a target value for metric and a per-pod target');
      }
    },
  ],
  [
    'pods',
    (findings, source, at) => {
      identifierFindings(findings, source, at);
      const target = look(source, 'target');
      targetFindings(findings, target, `${at}.target`);
      if (target.averageValue === undefined) {
        findings.required(`${at}.target.averageValue`, 'must specify a positive target averageValue');
      }
    },
  ],
  [
    'resource',
    (findings, source, at) => {
      if (text(source, 'name') === '') findings.required(`${at}.name`, 'must specify a resource name');
      resourceFindings(findings, source, at);
    },
  ],
  [
    'containerResource',
    (findings, source, at) => {
      const name = text(source, 'name');
      if (name === '') findings.required(`${at}.name`, 'must specify a resource name');
      else containerResourceName(findings, name, `${at}.name`);
      const container = text(source, 'container');
      if (container === '') findings.required(`${at}.container`, 'must specify a container');
      else findings.problems(`${at}.container`, container, labelProblems(container));
      resourceFindings(findings, source, at);
    },
  ],
];

function metricFindings(findings: Findings, metric: Plain, at: string): void {
  const type = text(metric, 'type');
  const isKnown = METRIC_TYPES.includes(type);
  if (type === '') findings.required(`${at}.type`, 'must specify a metric source type');
  if (!isKnown) findings.add([unsupportedValue(`${at}.type`, type, METRIC_TYPES)]);
  const present = SOURCES.filter(([field]) => metric[field] !== undefined);
  const [first] = present;
  if (first !== undefined) first[1](findings, look(metric, first[0]), `${at}.${first[0]}`);
  const own = isKnown ? `${type.charAt(0).toLowerCase()}${type.slice(1)}` : '';
  if (!isKnown) findings.add([unsupportedValue(`${at}.type`, type, METRIC_TYPES)]);
  else if (metric[own] === undefined) {
    findings.required(`${at}.${own}`, 'must populate information for the given metric source');
  }
  if (present.length === 1) return;
  for (const [field] of present) {
    if (field !== own) findings.forbidden(`${at}.${field}`, 'must populate the given metric source only');
  }
}

function policyFindings(findings: Findings, policy: Plain, at: string): void {
  const type = text(policy, 'type');
  if (!POLICY_TYPES.includes(type)) findings.add([unsupportedValue(`${at}.type`, type, POLICY_TYPES)]);
  const value = number(policy, 'value') ?? 0;
  const period = number(policy, 'periodSeconds') ?? 0;
  if (value <= 0) findings.invalid(`${at}.value`, value, 'must be greater than zero');
  if (period <= 0) findings.invalid(`${at}.periodSeconds`, period, 'must be greater than zero');
  if (period > LONGEST_PERIOD) {
    findings.invalid(`${at}.periodSeconds`, period, `must be less than or equal to ${LONGEST_PERIOD}`);
  }
}

function scalingFindings(findings: Findings, rules: Plain, at: string): void {
  const window = number(rules, 'stabilizationWindowSeconds') ?? 0;
  if (window < 0) findings.invalid(`${at}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero');
  if (window > LONGEST_WINDOW) {
    findings.invalid(`${at}.stabilizationWindowSeconds`, window, `must be less than or equal to ${LONGEST_WINDOW}`);
  }
  const { selectPolicy, tolerance } = rules;
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(String(selectPolicy))) {
    findings.add([unsupportedValue(`${at}.selectPolicy`, selectPolicy, SELECT_POLICIES)]);
  }
  const policies = items(rules, 'policies');
  if (policies.length === 0) findings.required(`${at}.policies`, 'must specify at least one Policy');
  for (const [index, policy] of policies.entries()) policyFindings(findings, policy, `${at}.policies[${index}]`);
  if (tolerance !== undefined && quantityNanos(tolerance) < 0n) {
    findings.invalid(`${at}.tolerance`, tolerance, 'must be greater than or equal to 0');
  }
}

export interface AutoscalerLeniency {
  readonly fewest: number;
  readonly targetVersion: boolean;
}

const targetOf = (object: ApiObject): Plain => look(object, 'spec', 'scaleTargetRef');

export const autoscalerLeniency = (old: ApiObject): AutoscalerLeniency => ({
  fewest: number(look(old, 'spec'), 'minReplicas') === 0 ? 0 : 1,
  targetVersion: versionProblem(text(targetOf(old), 'apiVersion'), true) !== undefined,
});

/** Validates an autoscaler in the form of `autoscaling/v2` (`ValidateHorizontalPodAutoscaler`). */
export function autoscalerCauses(
  object: ApiObject,
  { fewest, targetVersion }: AutoscalerLeniency = { fewest: 1, targetVersion: false },
): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const least = number(spec, 'minReplicas');
  const most = number(spec, 'maxReplicas') ?? 0;
  if (least !== undefined && least < fewest) {
    findings.invalid('spec.minReplicas', least, `must be greater than or equal to ${fewest}`);
  }
  if (most === 0) findings.required('spec.maxReplicas', 'must be set and greater than 0');
  else if (most < 0) findings.invalid('spec.maxReplicas', most, 'must be greater than or equal to 1');
  if (least !== undefined && most < least) {
    findings.invalid('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`');
  }
  const target = targetOf(object);
  referenceFindings(findings, targetVersion ? { ...target, apiVersion: 'a/v1' } : target, 'spec.scaleTargetRef', true);
  const metrics = items(spec, 'metrics');
  for (const [index, metric] of metrics.entries()) metricFindings(findings, metric, `spec.metrics[${index}]`);
  if (least === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const why = 'must specify at least one Object or External metric to support scaling to zero replicas';
    findings.forbidden('spec.metrics', why);
  }
  for (const direction of ['scaleUp', 'scaleDown']) {
    const rules = look(spec, 'behavior')[direction];
    if (isRecord(rules)) scalingFindings(findings, rules, `spec.behavior.${direction}`);
  }
  return findings.causes;
}

/** Validates the status of an autoscaler, whose numbers must not be negative. */
export function autoscalerStatusCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  for (const field of ['currentReplicas', 'desiredReplicas']) {
    findings.notNegative(`status.${field}`, look(object, 'status')[field]);
  }
  return findings.causes;
}
