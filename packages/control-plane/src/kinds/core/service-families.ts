import { isIP } from 'node:net';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { labels, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems } from '../base/addresses.ts';

const POLICY = 'spec.ipFamilyPolicy';
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const FAMILIES = ['IPv4', 'IPv6'];
const FAMILY = 'IPv4';

const familyOf = (address: string): string => (isIP(address) === 6 ? 'IPv6' : 'IPv4');

export const isHeadless = (spec: Plain): boolean => {
  const addresses = strings(spec, 'clusterIPs');
  return addresses.length === 1 && addresses[0] === 'None';
};

/**
 * Returns whether a service may have addresses of any family. Only a headless service without a selector may.
 */
const isOpen = (spec: Plain): boolean =>
  spec.clusterIP === 'None' && Object.keys(labels(spec, 'selector')).length === 0;

export const sameStrings = (left: unknown, right: unknown, field: string): boolean =>
  strings(left, field).join('\n') === strings(right, field).join('\n') &&
  strings(left, field).length === strings(right, field).length;

function pairFindings(findings: Findings, spec: Plain): void {
  const addresses = strings(spec, 'clusterIPs');
  const address = text(spec, 'clusterIP');
  if (address !== '') {
    if (addresses.length === 0) findings.required('spec.clusterIPs');
    else if (addresses[0] !== address) {
      findings.invalid('spec.clusterIPs', addresses, 'first value must match `clusterIP`');
    }
  } else if (addresses.length > 0) {
    findings.invalid('spec.clusterIPs', addresses, 'must be empty when `clusterIP` is not specified');
  }
}

/** Validates the addresses of a service, and returns whether an address is invalid. */
function addressFindings(findings: Findings, spec: Plain, before: Plain | undefined): boolean {
  const addresses = strings(spec, 'clusterIPs');
  const known = strings(before, 'clusterIPs');
  let isWrong = false;
  for (const [index, one] of addresses.entries()) {
    if (index === 0 && one === 'None') {
      if (addresses.length === 1) continue;
      findings.invalid('spec.clusterIPs', addresses, "'None' must be the first and only value");
      isWrong = true;
      continue;
    }
    const problems = known.includes(one) ? [] : ipProblems(one);
    isWrong ||= problems.length > 0;
    findings.problems(`spec.clusterIPs[${index}]`, one, problems);
  }
  return isWrong;
}

/**
 * Validates the addresses of a service, their families and the family policy
 * (`ValidateServiceClusterIPsRelatedFields`).
 */
export function familyCauses(spec: Plain, before?: Plain): readonly StatusCause[] {
  const findings = new Findings();
  if (spec.type === 'ExternalName') return findings.causes;
  pairFindings(findings, spec);
  const families = strings(spec, 'ipFamilies');
  for (const [index, family] of families.entries()) {
    findings.oneOf(`spec.ipFamilies[${index}]`, family, FAMILIES);
    if (families.indexOf(family) < index) findings.duplicate(`spec.ipFamilies[${index}]`, family);
  }
  if (spec.ipFamilyPolicy !== undefined) findings.oneOf(POLICY, spec.ipFamilyPolicy, POLICIES);
  const isWrong = addressFindings(findings, spec, before);
  const addresses = strings(spec, 'clusterIPs');
  if (addresses.length > 2) findings.invalid('spec.clusterIPs', addresses, 'may only hold up to 2 values');
  if (isWrong) return findings.causes;
  if (addresses.length > 1 && new Set(addresses.map(familyOf)).size < 2) {
    findings.invalid('spec.clusterIPs', addresses, 'may specify no more than one IP for each IP family');
  }
  if (isHeadless(spec)) return findings.causes;
  for (const [index, one] of addresses.entries()) {
    const family = families[index];
    if (family === undefined || !FAMILIES.includes(family) || family === familyOf(one)) continue;
    const why = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    findings.invalid(`spec.clusterIPs[${index}]`, one, why);
  }
  return findings.causes;
}

const keepsPreference = (spec: Plain, before: Plain | undefined): boolean =>
  before !== undefined &&
  before.type === spec.type &&
  ['ClusterIP', 'LoadBalancer', 'NodePort'].includes(text(spec, 'type')) &&
  spec.ipFamilyPolicy === 'PreferDualStack' &&
  (before.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
  sameStrings(before, spec, 'clusterIPs') &&
  sameStrings(before, spec, 'ipFamilies');

/** If the policy changes to a single family, removes the second address and the second family of a service. */
function releaseSecond(findings: Findings, spec: Plain, before: Plain): void {
  const parts = [
    ['clusterIPs', 'secondary cluster IP'],
    ['ipFamilies', 'secondary IP family'],
  ] as const;
  for (const [field, what] of parts) {
    const [old, own] = [strings(before, field), strings(spec, field)];
    if (spec.ipFamilyPolicy === 'SingleStack') {
      if (sameStrings(before, spec, field) && own.length > 1) spec[field] = own.slice(0, 1);
    } else if (own.length > 0 && own.length < old.length) {
      findings.invalid(POLICY, spec.ipFamilyPolicy, `must be 'SingleStack' to release the ${what}`);
    }
  }
}

function inferFamilies(findings: Findings, spec: Plain): void {
  const addresses = strings(spec, 'clusterIPs');
  if (spec.ipFamilyPolicy === 'SingleStack') {
    const why = (what: string) => `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    if (addresses.length === 2) findings.invalid(POLICY, spec.ipFamilyPolicy, why('cluster IPs'));
    if (strings(spec, 'ipFamilies').length === 2) findings.invalid(POLICY, spec.ipFamilyPolicy, why('IP families'));
  }
  for (const [index, one] of addresses.entries()) {
    if (one === 'None') break;
    const families = strings(spec, 'ipFamilies');
    const family = familyOf(one);
    if (index < families.length) continue;
    if (family === FAMILY) spec.ipFamilies = [...families, family];
    else findings.invalid(`spec.clusterIPs[${index}]`, addresses, `${family} is not configured on this cluster`);
  }
}

/**
 * Sets the family policy and the families of a service before the allocation of addresses (`initIPFamilyFields`).
 * @param before the spec of the service before an update
 */
export function initFamilies(spec: Plain, before?: Plain): readonly StatusCause[] {
  if (spec.type === 'ExternalName' || keepsPreference(spec, before)) return [];
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (isOpen(spec) ? 'RequireDualStack' : 'SingleStack');
  const wrong = familyCauses(spec, before);
  if (wrong.length > 0) return wrong;
  const findings = new Findings();
  if (isRecord(before)) releaseSecond(findings, spec, before);
  inferFamilies(findings, spec);
  if (findings.causes.length > 0) return findings.causes;
  if (isOpen(spec)) {
    const [first = FAMILY, ...rest] = strings(spec, 'ipFamilies');
    const other = spec.ipFamilyPolicy === 'SingleStack' ? [] : FAMILIES.filter((family) => family !== first);
    spec.ipFamilies = [first, ...(rest.length > 0 ? rest : other)];
    return [];
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    findings.invalid(POLICY, spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services');
  }
  for (const [index, family] of strings(spec, 'ipFamilies').entries()) {
    if (family !== FAMILY) findings.invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster');
  }
  if (findings.causes.length === 0 && strings(spec, 'ipFamilies').length === 0) spec.ipFamilies = [FAMILY];
  return findings.causes;
}

/** Validates a change of the addresses, as `validateUpgradeDowngradeClusterIPs` in Kubernetes. */
function addressChanges(findings: Findings, spec: Plain, before: Plain): void {
  if (isHeadless(before) && isHeadless(spec)) return;
  const [old, own] = [strings(before, 'clusterIPs'), strings(spec, 'clusterIPs')];
  const changed = (index: number): void =>
    findings.invalid(`spec.clusterIPs[${index}]`, own, 'may not change once set');
  if (old.length === own.length) {
    for (const [index, address] of old.entries()) if (address !== own[index]) changed(index);
    return;
  }
  if (old.length > own.length && own.length === 0) {
    findings.invalid('spec.clusterIPs[0]', own, 'primary clusterIP can not be unset');
  }
  if (old.length > 0 && own.length > 0 && old[0] !== own[0]) changed(0);
  if (old.length > own.length && own.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    const why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    findings.invalid(POLICY, spec.ipFamilyPolicy, why);
  }
}

/** Validates a change of the address families, as `validateUpgradeDowngradeIPFamilies` in Kubernetes. */
function familyChanges(findings: Findings, spec: Plain, before: Plain): void {
  if (isHeadless(before) || isHeadless(spec)) return;
  const at = 'spec.ipFamilies[0]';
  const [old, own] = [strings(before, 'ipFamilies'), strings(spec, 'ipFamilies')];
  const why = 'may not change once set';
  if (old.length === own.length) {
    for (const [index, family] of old.entries()) if (family !== own[index]) findings.invalid(at, own, why);
    return;
  }
  if (old.length > own.length && strings(spec, 'clusterIPs').length === 0) {
    findings.invalid(at, own, 'primary ipFamily can not be unset');
  }
  if (old.length > 0 && own.length > 0 && old[0] !== own[0]) findings.invalid(at, strings(spec, 'clusterIPs'), why);
  if (old.length > own.length && own.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    findings.invalid(POLICY, spec.ipFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily");
  }
}

export function familyChangeCauses(spec: Plain, before: Plain): readonly StatusCause[] {
  const findings = new Findings();
  if (spec.type === 'ExternalName' || before.type === 'ExternalName') return findings.causes;
  addressChanges(findings, spec, before);
  familyChanges(findings, spec, before);
  return findings.causes;
}
