import { invalidValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, pathSegmentProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems, ipWarnings, parseAddress } from '../base/addresses.ts';
import { portNameProblems } from '../base/formats.ts';
import { strategy } from '../base/strategy.ts';

const WILDCARD = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const WILDCARD_RULE =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function hostProblems(host: string): string[] {
  if (!host.includes('*')) return subdomainProblems(host);
  return [
    ...(host.length > 253 ? ['must be no more than 253 characters'] : []),
    ...(WILDCARD.test(host) ? [] : [WILDCARD_RULE]),
  ];
}

function referenceFindings(findings: Findings, reference: Plain, at: string): void {
  const { apiGroup } = reference;
  if (typeof apiGroup === 'string') findings.problems(`${at}.apiGroup`, apiGroup, subdomainProblems(apiGroup));
  for (const field of ['kind', 'name']) {
    const value = text(reference, field);
    if (value === '') findings.required(`${at}.${field}`);
    else findings.problems(`${at}.${field}`, value, pathSegmentProblems(value));
  }
}

function serviceFindings(findings: Findings, service: Plain, at: string): void {
  const name = text(service, 'name');
  if (name === '') findings.required(`${at}.service.name`);
  else findings.problems(`${at}.service.name`, name, labelProblems(name));
  const port = look(service, 'port');
  const portName = text(port, 'name');
  const portNumber = number(port, 'number') ?? 0;
  if (portName !== '' && portNumber !== 0) findings.invalid(at, '', 'cannot set both port name & port number');
  else if (portName !== '') findings.problems(`${at}.service.port.name`, portName, portNameProblems(portName));
  else if (portNumber !== 0) findings.port(`${at}.service.port.number`, portNumber);
  else findings.required(at, 'port name or number is required');
}

function backendFindings(findings: Findings, backend: Plain, at: string): void {
  const { resource, service } = backend;
  if (resource !== undefined && service !== undefined) {
    findings.invalid(at, '', 'cannot set both resource and service backends');
  } else if (resource !== undefined) referenceFindings(findings, look(backend, 'resource'), `${at}.resource`);
  else if (service !== undefined) serviceFindings(findings, look(backend, 'service'), at);
  else findings.invalid(at, '', 'resource or service backend is required');
}

const BAD_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_ENDS = ['/..', '/.'];
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];

function pathFindings(findings: Findings, rule: Plain, at: string): void {
  const { pathType } = rule;
  const path = text(rule, 'path');
  if (pathType === undefined) {
    findings.required(`${at}.pathType`, 'pathType must be specified');
    return;
  }
  const isFree = pathType === 'ImplementationSpecific';
  if (!PATH_TYPES.includes(String(pathType))) {
    findings.add([unsupportedValue(`${at}.pathType`, pathType, PATH_TYPES)]);
  } else {
    const mustBegin = !isFree || path !== '';
    if (mustBegin && !path.startsWith('/')) findings.invalid(`${at}.path`, path, 'must be an absolute path');
    for (const bad of isFree ? [] : BAD_SEQUENCES) {
      if (path.includes(bad)) findings.invalid(`${at}.path`, path, `must not contain '${bad}'`);
    }
    for (const bad of isFree ? [] : BAD_ENDS) {
      if (path.endsWith(bad)) findings.invalid(`${at}.path`, path, `cannot end with '${bad}'`);
    }
  }
  backendFindings(findings, look(rule, 'backend'), `${at}.backend`);
}

function ruleFindings(findings: Findings, rule: Plain, at: string): void {
  if (rule.http === undefined) return;
  const paths = items(look(rule, 'http'), 'paths');
  if (paths.length === 0) findings.required(`${at}.http.paths`);
  for (const [index, path] of paths.entries()) pathFindings(findings, path, `${at}.http.paths[${index}]`);
}

const rulesOf = (ingress: ApiObject): Plain[] => items(look(ingress, 'spec'), 'rules');

interface Leniency {
  readonly secretNames: boolean;
  readonly wildcardRules: boolean;
}

const STRICT: Leniency = { secretNames: false, wildcardRules: false };

const secretProblems = (entry: Plain): string[] => {
  const name = text(entry, 'secretName');
  return name === '' ? [] : subdomainProblems(name);
};

const leniencyOf = (old: ApiObject): Leniency => ({
  secretNames: items(look(old, 'spec'), 'tls').some((entry) => secretProblems(entry).length > 0),
  wildcardRules: rulesOf(old).some((rule) => {
    const findings = new Findings();
    ruleFindings(findings, rule, '');
    return text(rule, 'host').includes('*') && findings.causes.length > 0;
  }),
});

function specCauses(ingress: ApiObject, leniency: Leniency): StatusCause[] {
  const findings = new Findings();
  const spec = look(ingress, 'spec');
  const rules = rulesOf(ingress);
  if (rules.length === 0 && spec.defaultBackend === undefined) {
    findings.invalid('spec', given(spec, 'rules'), 'either `defaultBackend` or `rules` must be specified');
  }
  if (spec.defaultBackend !== undefined) backendFindings(findings, look(spec, 'defaultBackend'), 'spec.defaultBackend');
  for (const [index, rule] of rules.entries()) {
    const at = `spec.rules[${index}]`;
    const host = text(rule, 'host');
    if (host !== '') {
      if (parseAddress(host) !== undefined)
        findings.invalid(`${at}.host`, host, 'must be a DNS name, not an IP address');
      findings.problems(`${at}.host`, host, hostProblems(host));
    }
    if (!host.includes('*') || !leniency.wildcardRules) ruleFindings(findings, rule, at);
  }
  for (const [index, entry] of items(spec, 'tls').entries()) {
    for (const [position, host] of strings(entry, 'hosts').entries()) {
      findings.problems(`spec.tls[${index}].hosts[${position}]`, host, hostProblems(host));
    }
    if (leniency.secretNames) continue;
    findings.problems(`spec.tls[${index}].secretName`, text(entry, 'secretName'), secretProblems(entry));
  }
  const { ingressClassName } = spec;
  if (typeof ingressClassName === 'string') {
    findings.problems('spec.ingressClassName', ingressClassName, subdomainProblems(ingressClassName));
  }
  return findings.causes;
}

const CLASS = 'kubernetes.io/ingress.class';

function annotationCauses(ingress: ApiObject): StatusCause[] {
  const annotation = ingress.metadata.annotations?.[CLASS];
  const { ingressClassName } = look(ingress, 'spec');
  if (annotation === undefined || ingressClassName === undefined || annotation === ingressClassName) return [];
  return [invalidValue(`annotations.${CLASS}`, annotation, 'must match `ingressClassName` when both are specified')];
}

const pointsOf = (ingress: ApiObject): Plain[] => items(look(ingress, 'status', 'loadBalancer'), 'ingress');

function statusCauses(ingress: ApiObject, old: ApiObject): StatusCause[] {
  const findings = new Findings();
  const known = new Set(pointsOf(old).map((point) => text(point, 'ip')));
  for (const [index, point] of pointsOf(ingress).entries()) {
    const at = `status.loadBalancer.ingress[${index}]`;
    const ip = text(point, 'ip');
    const hostname = text(point, 'hostname');
    if (ip !== '' && !known.has(ip)) findings.problems(`${at}.ip`, ip, ipProblems(ip));
    if (hostname === '') continue;
    findings.problems(`${at}.hostname`, hostname, subdomainProblems(hostname));
    if (parseAddress(hostname) !== undefined) {
      findings.invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address');
    }
  }
  return findings.causes;
}

/** Validates an ingress (`ValidateIngressCreate`, `ValidateIngressUpdate`). */
export const ingressStrategy = {
  ...strategy({
    prepareForCreate(ingress) {
      ingress.status = { loadBalancer: {} };
    },
  }),
  validate: (ingress: ApiObject): StatusCause[] => [...specCauses(ingress, STRICT), ...annotationCauses(ingress)],
  validateUpdate: (
    ingress: ApiObject,
    old: ApiObject,
    { subresource }: { readonly subresource: string },
  ): StatusCause[] => (subresource === 'status' ? statusCauses(ingress, old) : specCauses(ingress, leniencyOf(old))),
};

/** Returns a warning for each status address that is not in canonical form. */
export const ingressStatusWarnings = (ingress: ApiObject): string[] =>
  pointsOf(ingress).flatMap((point, index) =>
    ipWarnings(`status.loadBalancer.ingress[${index}].ip`, text(point, 'ip')),
  );

const SCOPES = ['Cluster', 'Namespace'];
const LONGEST_CONTROLLER = 250;

function parameterFindings(findings: Findings, parameters: Plain): void {
  const at = 'spec.parameters';
  referenceFindings(findings, parameters, at);
  const { scope, namespace } = parameters;
  if (scope === undefined) {
    findings.required(`${at}.scope`);
    return;
  }
  if (!SCOPES.includes(String(scope))) findings.add([unsupportedValue(`${at}.scope`, scope, SCOPES)]);
  else if (scope === 'Cluster') {
    if (namespace !== undefined) findings.forbidden(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (typeof namespace !== 'string') {
    findings.required(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'");
  } else findings.problems(`${at}.namespace`, namespace, labelProblems(namespace));
}

/**
 * Validates an IngressClass. The controller of an IngressClass is immutable, but the parameters are mutable
 * (`ValidateIngressClass`).
 */
export const ingressClassStrategy = strategy({
  setDefaults(object) {
    const { parameters } = look(object, 'spec');
    if (isRecord(parameters)) parameters.scope ??= 'Cluster';
  },
  causes(object) {
    const findings = new Findings();
    const spec = look(object, 'spec');
    const controller = text(spec, 'controller');
    if (controller.length > LONGEST_CONTROLLER) findings.tooLong('spec.controller', LONGEST_CONTROLLER);
    findings.domainPath('spec.controller', controller);
    if (spec.parameters !== undefined) parameterFindings(findings, look(spec, 'parameters'));
    return findings.causes;
  },
  changesFirst: true,
  change(object, old) {
    const { controller } = look(object, 'spec');
    if (controller === look(old, 'spec').controller) return [];
    return [invalidValue('spec.controller', controller ?? '', 'field is immutable')];
  },
});
