import { Findings, NOT_NEGATIVE } from '../../apimachinery/errors/findings.ts';
import { qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { quantityMilli, quantityNanos, quantityValue, roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { strategy, withStatus } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { isInteger, isWhole } from '../pod/rules/resources.ts';

const NANO = 1_000_000_000n;
const SCOPES = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
  'VolumeAttributesClass',
];
/** Pairs of quota scopes that exclude each other. */
const PAIRS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;
const STANDARD =
  /^(cpu|memory|ephemeral-storage|pods|services|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims|services\.nodeports|services\.loadbalancers|storage|(requests|limits)\.(cpu|memory|ephemeral-storage|storage)|(requests\.)?hugepages-.+)$/;

const STANDARD_QUOTA =
  /^(?:cpu|memory|ephemeral-storage|pods|services|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims|services\.(?:nodeports|loadbalancers)|requests\.(?:cpu|memory|storage|ephemeral-storage|hugepages-.*)|limits\.(?:cpu|memory|ephemeral-storage)|hugepages-.*)$/;
const OF_PODS = /^(?:pods|(?:(?:requests|limits)\.)?(?:cpu|memory))$/;
const LIMITED_BY: Readonly<Record<string, RegExp>> = {
  Terminating: OF_PODS,
  NotTerminating: OF_PODS,
  NotBestEffort: OF_PODS,
  PriorityClass: OF_PODS,
  CrossNamespacePodAffinity: OF_PODS,
  BestEffort: /^pods$/,
  VolumeAttributesClass: /^(?:persistentvolumeclaims|requests\.storage)$/,
};

const isObjectCount = (name: string): boolean => name.startsWith('count/');

function amounts(findings: Findings, hard: Plain, at: string): void {
  for (const [name, amount] of Object.entries(hard)) {
    const field = `${at}[${name}]`;
    const problems = qualifiedNameProblems(name);
    findings.problems(field, name, problems);
    if (problems.length === 0 && !name.includes('/') && !STANDARD.test(name)) {
      findings.invalid(field, name, 'must be a standard resource type or fully qualified');
      findings.invalid(field, name, 'must be a standard resource for quota');
    }
    if (quantityNanos(amount) < 0n) findings.invalid(field, amount, NOT_NEGATIVE);
    if ((isWhole(name) || isObjectCount(name)) && !isInteger(amount)) {
      findings.invalid(field, amount, 'must be an integer');
    }
  }
}

function beyondScope(findings: Findings, spec: Plain, scope: string, field: string, shown: unknown): void {
  const limited = LIMITED_BY[scope];
  for (const name of Object.keys(look(spec, 'hard'))) {
    if (limited === undefined || limited.test(name) || !STANDARD_QUOTA.test(name)) continue;
    findings.invalid(field, shown, 'unsupported scope applied to resource');
  }
}

function conflictFindings(findings: Findings, scopes: readonly string[], field: string, shown: unknown): void {
  for (const [one, other] of PAIRS) {
    if (scopes.includes(one) && scopes.includes(other)) findings.invalid(field, shown, 'conflicting scopes');
  }
}

/** The scopes for which a scope selector supports only the operator Exists. */
const ONLY_EXISTS = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];

function scopeFindings(findings: Findings, spec: Plain): void {
  const scopes = strings(spec, 'scopes');
  for (const scope of scopes) {
    if (!SCOPES.includes(scope)) findings.invalid('spec.scopes', scopes, 'unsupported scope');
    beyondScope(findings, spec, scope, 'spec.scopes', scopes);
  }
  conflictFindings(findings, scopes, 'spec.scopes', scopes);
  const { scopeSelector } = spec;
  if (!isRecord(scopeSelector)) return;
  const at = 'spec.scopeSelector.matchExpressions';
  for (const expression of items(scopeSelector, 'matchExpressions')) {
    const scope = text(expression, 'scopeName');
    const operator = text(expression, 'operator');
    const values = strings(expression, 'values');
    if (!SCOPES.includes(scope)) findings.invalid(`${at}.scopeName`, scope, 'unsupported scope');
    beyondScope(findings, spec, scope, at, internalForm('ScopeSelector', scopeSelector));
    if (ONLY_EXISTS.includes(scope) && operator !== 'Exists') {
      const why =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      findings.invalid(`${at}.operator`, operator, why);
    }
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        findings.required(
          `${at}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        );
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0) {
        const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
        findings.invalid(`${at}.values`, values, why);
      }
    } else findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
  }
  const chosen = items(scopeSelector, 'matchExpressions').map((expression) => text(expression, 'scopeName'));
  conflictFindings(findings, chosen, 'spec.scopeSelector.matchExpressions', given(spec, 'scopes') ?? null);
}

function quotaCauses(quota: ApiObject): StatusCause[] {
  const findings = new Findings();
  amounts(findings, look(quota, 'spec', 'hard'), 'spec.hard');
  scopeFindings(findings, look(quota, 'spec'));
  return findings.causes;
}

export const resourceQuotaStrategy = strategy({
  setDefaults(quota) {
    roundAmounts(look(quota, 'spec').hard);
    for (const list of ['hard', 'used']) roundAmounts(look(quota, 'status')[list]);
  },
  prepareForCreate: withStatus(),
  causes: quotaCauses,
  statusCauses(quota) {
    const findings = new Findings();
    for (const list of ['hard', 'used']) amounts(findings, look(quota, 'status', list), `status.${list}`);
    return findings.causes;
  },
  change(quota, old) {
    const [scopes, before] = [new Set(strings(quota.spec, 'scopes')), new Set(strings(old.spec, 'scopes'))];
    if (scopes.size === before.size && scopes.isSubsetOf(before)) return [];
    const findings = new Findings();
    findings.invalid('spec.scopes', given(quota.spec, 'scopes'), 'field is immutable');
    return findings.causes;
  },
});

const LIMITS = ['Pod', 'Container', 'PersistentVolumeClaim'];

const FOR_CONTAINERS = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/;
const QUOTA_PREFIX = 'requests.';

/**
 * Validates the resource name of a limit. A limit for containers or pods must name a resource that containers can
 * request.
 */
function limitNameFindings(findings: Findings, name: string, type: string, field: string): void {
  const problems = qualifiedNameProblems(name);
  findings.problems(field, name, problems);
  const isPlainName = !name.includes('/');
  if (problems.length === 0 && isPlainName && !STANDARD.test(name)) {
    findings.invalid(field, name, 'must be a standard resource type or fully qualified');
  }
  if (type !== 'Pod' && type !== 'Container') return;
  if (isPlainName) {
    if (!FOR_CONTAINERS.test(name)) findings.invalid(field, name, 'must be a standard resource for containers');
    return;
  }
  if (name.includes('kubernetes.io/')) return;
  if (name.startsWith(QUOTA_PREFIX) || qualifiedNameProblems(`${QUOTA_PREFIX}${name}`).length > 0) {
    findings.invalid(field, name, "doesn't follow extended resource name standard");
  }
}

function rangeFindings(findings: Findings, limit: Plain, at: string): void {
  const type = text(limit, 'type');
  const of = (list: string): Plain => look(limit, list);
  const [max, min, standard, request, ratio] = [
    of('max'),
    of('min'),
    of('default'),
    of('defaultRequest'),
    of('maxLimitRequestRatio'),
  ];
  const lists = type === 'Pod' ? ['max', 'min'] : ['max', 'min', 'default', 'defaultRequest'];
  for (const list of [...lists, 'maxLimitRequestRatio']) {
    for (const name of Object.keys(of(list))) limitNameFindings(findings, name, type, `${at}.${list}[${name}]`);
  }
  if (type === 'Pod') {
    if (Object.keys(standard).length > 0)
      findings.forbidden(`${at}.default`, "may not be specified when `type` is 'Pod'");
    if (Object.keys(request).length > 0) {
      findings.forbidden(`${at}.defaultRequest`, "may not be specified when `type` is 'Pod'");
    }
  }
  if (type === 'PersistentVolumeClaim' && min.storage === undefined && max.storage === undefined) {
    const why = 'either minimum or maximum storage value is required, but neither was provided';
    findings.required(`${at}.limits`, why);
  }
  const names = new Set([
    ...Object.keys(max),
    ...Object.keys(min),
    ...Object.keys(standard),
    ...Object.keys(request),
    ...Object.keys(ratio),
  ]);
  for (const name of names) rangeOf(findings, name, { max, min, standard, request, ratio }, at);
}

interface Range {
  readonly max: Plain;
  readonly min: Plain;
  readonly standard: Plain;
  readonly request: Plain;
  readonly ratio: Plain;
}

/** Validates that the minimum, the defaults and the maximum of a limit are in ascending order. */
function rangeOf(findings: Findings, name: string, range: Range, at: string): void {
  const [max, min, standard, request] = [range.max[name], range.min[name], range.standard[name], range.request[name]];
  const above = (one: unknown, other: unknown): boolean =>
    one !== undefined && other !== undefined && quantityNanos(one) > quantityNanos(other);
  const tell = (list: string, value: unknown, why: string): void =>
    findings.invalid(`${at}.${list}[${name}]`, value, why);
  if (above(min, max)) tell('min', min, `min value ${min} is greater than max value ${max}`);
  if (above(min, request)) {
    tell('defaultRequest', request, `min value ${min} is greater than default request value ${request}`);
  }
  if (above(request, max)) {
    tell('defaultRequest', request, `default request value ${request} is greater than max value ${max}`);
  }
  if (above(request, standard)) {
    tell('defaultRequest', request, `default request value ${request} is greater than default limit value ${standard}`);
  }
  if (above(min, standard)) tell('default', min, `min value ${min} is greater than default value ${standard}`);
  if (above(standard, max)) {
    tell('default', max, `default value ${standard} is greater than max value ${max}`);
  }
  const ratio = range.ratio[name];
  if (ratio !== undefined && quantityNanos(ratio) < NANO) {
    tell('maxLimitRequestRatio', ratio, `ratio ${ratio} is less than 1`);
  }
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    // As in kube-apiserver, the function compares small amounts in thousandths.
    const areSmall = [ratio, min, max].every((amount) => quantityValue(amount) < MOST_MILLI);
    const numberOf = (amount: unknown): number => Number(areSmall ? quantityMilli(amount) : quantityValue(amount));
    const most = numberOf(max) / numberOf(min);
    if (numberOf(ratio) / (areSmall ? 1000 : 1) > most) {
      const shown = Number.isFinite(most) ? most.toFixed(6) : '-Inf';
      tell('maxLimitRequestRatio', ratio, `ratio ${ratio} is greater than max/min = ${shown}`);
    }
  }
}

const MOST_MILLI = (2n ** 63n - 1n) / 1000n;

export function limitRangeCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const seen = new Set<string>();
  for (const [index, limit] of items(look(object, 'spec'), 'limits').entries()) {
    const at = `spec.limits[${index}]`;
    const type = text(limit, 'type');
    const problems = qualifiedNameProblems(type);
    findings.problems(`${at}.type`, type, problems);
    if (problems.length === 0 && !type.includes('/') && !LIMITS.includes(type)) {
      findings.invalid(`${at}.type`, type, 'must be a standard limit type or fully qualified');
    }
    if (seen.has(type)) findings.duplicate(`${at}.type`, type);
    seen.add(type);
    rangeFindings(findings, limit, at);
  }
  return findings.causes;
}
