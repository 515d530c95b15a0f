import type { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, type Plain, strings } from '../../apimachinery/objects/plain.ts';
import { selectorCauses } from '../base/selector.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];
const MATCHES = ['Equivalent', 'Exact'];

/** If a list contains `*`, validates that the list has no other value, because `*` includes all values. */
function alone(findings: Findings, values: readonly string[], at: string, field: string): void {
  if (values.length > 1 && values.includes('*')) {
    findings.invalid(`${at}.${field}`, values, `if '*' is present, must not specify other ${WORDS[field] ?? field}`);
  }
}

const WORDS: Readonly<Record<string, string>> = { apiGroups: 'API groups', apiVersions: 'API versions' };

/** Validates the resources of a rule. */
function resourceFindings(findings: Findings, resources: readonly string[], at: string): void {
  const withStars = new Set<string>();
  const starred = new Set<string>();
  let isPlainLast = false;
  for (const [index, resource] of resources.entries()) {
    const here = `${at}.resources[${index}]`;
    if (resource === '') {
      findings.required(here);
      continue;
    }
    const slash = resource.indexOf('/');
    if (slash === -1) {
      isPlainLast = resource !== '*';
      continue;
    }
    const [name, sub] = [resource.slice(0, slash), resource.slice(slash + 1)];
    const covered = (by: string): string => `if '${by}' is present, must not specify ${resource}`;
    if (withStars.has(name)) findings.invalid(here, resource, covered(`${name}/*`));
    if (starred.has(sub)) findings.invalid(here, resource, covered(`*/${sub}`));
    if (sub === '*') withStars.add(name);
    if (name === '*') starred.add(sub);
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    findings.invalid(`${at}.resources`, resources, "if '*/*' is present, must not specify other resources");
  }
  if (resources.includes('*') && isPlainLast) {
    const why = "if '*' is present, must not specify other resources without subresources";
    findings.invalid(`${at}.resources`, resources, why);
  }
}

/** Validates a rule of a webhook or a policy (`validateRuleWithOperations`). */
export function ruleFindings(findings: Findings, rule: Plain, at: string): void {
  const operations = strings(rule, 'operations');
  if (operations.length === 0) findings.required(`${at}.operations`);
  alone(findings, operations, at, 'operations');
  for (const [index, operation] of operations.entries()) {
    findings.oneOf(`${at}.operations[${index}]`, operation, OPERATIONS);
  }
  const groups = strings(rule, 'apiGroups');
  if (groups.length === 0) findings.required(`${at}.apiGroups`);
  alone(findings, groups, at, 'apiGroups');
  const versions = strings(rule, 'apiVersions');
  if (versions.length === 0) findings.required(`${at}.apiVersions`);
  alone(findings, versions, at, 'apiVersions');
  for (const [index, version] of versions.entries()) {
    if (version === '') findings.required(`${at}.apiVersions[${index}]`);
  }
  const resources = strings(rule, 'resources');
  if (resources.length === 0) findings.required(`${at}.resources`);
  resourceFindings(findings, resources, at);
  if (rule.scope !== undefined) findings.oneOf(`${at}.scope`, rule.scope, SCOPES);
}

function matchFindings(findings: Findings, holder: Plain, at: string): void {
  if (holder.matchPolicy !== undefined) findings.oneOf(`${at}.matchPolicy`, holder.matchPolicy, MATCHES);
  for (const field of ['namespaceSelector', 'objectSelector']) {
    if (isRecord(holder[field])) findings.add(selectorCauses(holder[field], `${at}.${field}`));
  }
}

function nameFindings(findings: Findings, rule: Plain, at: string): void {
  const names = strings(rule, 'resourceNames');
  for (const [index, name] of names.entries()) {
    const here = `${at}.resourceNames[${index}]`;
    findings.problems(here, name, pathSegmentProblems(name));
    if (names.indexOf(name) < index) findings.duplicate(here, name);
  }
}

export function constraintFindings(findings: Findings, constraints: Plain, at: string): void {
  matchFindings(findings, constraints, at);
  for (const list of ['resourceRules', 'excludeResourceRules']) {
    for (const [index, rule] of items(constraints, list).entries()) {
      const here = `${at}.${list}[${index}]`;
      nameFindings(findings, rule, here);
      ruleFindings(findings, rule, here);
    }
  }
}
