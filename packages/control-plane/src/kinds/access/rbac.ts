import { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, preset, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { selectorCauses } from '../base/selector.ts';
import { strategy } from '../base/strategy.ts';

const GROUP = 'rbac.authorization.k8s.io';
const SUBJECTS = ['ServiceAccount', 'User', 'Group'];

function ruleFindings(findings: Findings, rule: Plain, at: string, namespaced: boolean): void {
  if (strings(rule, 'verbs').length === 0) {
    findings.required(`${at}.verbs`, 'verbs must contain at least one value');
  }
  const urls = strings(rule, 'nonResourceURLs');
  const [groups, resources, names] = ['apiGroups', 'resources', 'resourceNames'].map((field) => strings(rule, field));
  if (urls.length > 0) {
    const field = `${at}.nonResourceURLs`;
    if (namespaced) findings.invalid(field, urls, 'namespaced rules cannot apply to non-resource URLs');
    if ((groups?.length ?? 0) + (resources?.length ?? 0) + (names?.length ?? 0) > 0) {
      findings.invalid(field, urls, 'rules cannot apply to both regular resources and non-resource URLs');
    }
    return;
  }
  if (groups?.length === 0) findings.required(`${at}.apiGroups`, 'resource rules must supply at least one api group');
  if (resources?.length === 0) findings.required(`${at}.resources`, 'resource rules must supply at least one resource');
}

const roleCauses =
  (namespaced: boolean) =>
  (role: ApiObject): StatusCause[] => {
    const findings = new Findings();
    for (const [index, rule] of items(role, 'rules').entries()) {
      ruleFindings(findings, rule, `rules[${index}]`, namespaced);
    }
    const { aggregationRule } = role;
    if (!isRecord(aggregationRule)) return findings.causes;
    const at = 'aggregationRule.clusterRoleSelectors';
    const selectors = items(aggregationRule, 'clusterRoleSelectors');
    if (selectors.length === 0) {
      findings.required(at, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
    }
    for (const [index, selector] of selectors.entries()) {
      const causes = selectorCauses(selector, `${at}[${index}]`);
      findings.add(causes);
      if (causes.length > 0) findings.invalid(`${at}[${index}]`, null, 'invalid label selector.');
    }
    return findings.causes;
  };

function subjectFindings(findings: Findings, subject: Plain, at: string, namespaced: boolean): void {
  const name = text(subject, 'name');
  const kind = text(subject, 'kind');
  const group = text(subject, 'apiGroup');
  if (name === '') findings.required(`${at}.name`);
  if (kind === 'ServiceAccount') {
    if (name !== '') findings.problems(`${at}.name`, name, subdomainProblems(name));
    if (group !== '') findings.oneOf(`${at}.apiGroup`, group, ['']);
    if (!namespaced && text(subject, 'namespace') === '') findings.required(`${at}.namespace`);
  } else if (kind === 'User' || kind === 'Group') findings.oneOf(`${at}.apiGroup`, group, [GROUP]);
  else findings.oneOf(`${at}.kind`, kind, SUBJECTS);
}

const bindingCauses =
  (namespaced: boolean) =>
  (binding: ApiObject): StatusCause[] => {
    const findings = new Findings();
    const role = look(binding, 'roleRef');
    findings.oneOf('roleRef.apiGroup', text(role, 'apiGroup'), [GROUP]);
    findings.oneOf('roleRef.kind', text(role, 'kind'), namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']);
    const name = text(role, 'name');
    if (name === '') findings.required('roleRef.name');
    else findings.problems('roleRef.name', name, pathSegmentProblems(name));
    for (const [index, subject] of items(binding, 'subjects').entries()) {
      subjectFindings(findings, subject, `subjects[${index}]`, namespaced);
    }
    return findings.causes;
  };

/** Sets the default API groups of a binding. Users, groups and the role get the RBAC group. */
function defaultBinding(binding: ApiObject): void {
  preset(look(binding, 'roleRef'), 'apiGroup', GROUP);
  for (const subject of items(binding, 'subjects')) {
    if (subject.kind === 'User' || subject.kind === 'Group') preset(subject, 'apiGroup', GROUP);
  }
}

function roleChange(binding: ApiObject, old: ApiObject): StatusCause[] {
  const role = look(binding, 'roleRef');
  if (jsonEquals(role, old.roleRef)) return [];
  const findings = new Findings();
  const { apiGroup, kind, name } = role;
  findings.invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef');
  return findings.causes;
}

export const roleStrategy = (namespaced: boolean) => strategy({ causes: roleCauses(namespaced) });

export const bindingStrategy = (namespaced: boolean) =>
  strategy({ setDefaults: defaultBinding, causes: bindingCauses(namespaced), change: roleChange });
