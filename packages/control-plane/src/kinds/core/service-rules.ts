import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, labels, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { cidrProblems, ipProblems } from '../base/addresses.ts';
import { portNameProblems } from '../base/formats.ts';
import { labelFindings } from '../base/selector.ts';
import { internalForm } from '../internal/form.ts';
import { familyCauses, isHeadless } from './service-families.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const AFFINITIES = ['ClientIP', 'None'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const POLICIES = ['Cluster', 'Local'];
const DAY_SECONDS = 86_400;

export const isReachable = (spec: Plain): boolean =>
  spec.type === 'LoadBalancer' ||
  spec.type === 'NodePort' ||
  (spec.type === 'ClusterIP' && strings(spec, 'externalIPs').length > 0);

function portFindings(findings: Findings, spec: Plain): void {
  const ports = items(spec, 'ports');
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`;
    const name = text(port, 'name');
    if (ports.length > 1 && name === '') findings.required(`${at}.name`);
    else if (name !== '') {
      findings.problems(`${at}.name`, name, labelProblems(name));
      if (names.has(name)) findings.duplicate(`${at}.name`, name);
      names.add(name);
    }
    findings.port(`${at}.port`, number(port, 'port') ?? 0);
    findings.oneOf(`${at}.protocol`, port.protocol, PROTOCOLS, true);
    const target = port.targetPort;
    if (typeof target === 'number') findings.port(`${at}.targetPort`, target);
    else if (typeof target === 'string') findings.problems(`${at}.targetPort`, target, portNameProblems(target));
    const appProtocol = port.appProtocol;
    if (typeof appProtocol === 'string') findings.qualifiedName(`${at}.appProtocol`, appProtocol);
  }
}

/** Only some types of services have node ports, and two ports must not have the same node port. */
function nodePortFindings(findings: Findings, spec: Plain): void {
  const ports = items(spec, 'ports');
  if (spec.type === 'ClusterIP') {
    for (const [index, port] of ports.entries()) {
      if ((number(port, 'nodePort') ?? 0) !== 0) {
        findings.forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'");
      }
    }
  }
  const nodePorts = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const nodePort = number(port, 'nodePort') ?? 0;
    if (nodePort === 0) continue;
    const id = `${text(port, 'protocol')}/${nodePort}`;
    if (nodePorts.has(id)) findings.duplicate(`spec.ports[${index}].nodePort`, nodePort);
    nodePorts.add(id);
  }
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const id = `${text(port, 'protocol')}/${port.port}`;
    if (seen.has(id)) {
      const { protocol, port: number_ } = port;
      findings.duplicate(`spec.ports[${index}]`, internalForm('ServicePort', { protocol, port: number_ }));
    }
    seen.add(id);
  }
}

function addressFindings(findings: Findings, spec: Plain, before: Plain): void {
  const known = strings(before, 'externalIPs');
  for (const [index, address] of strings(spec, 'externalIPs').entries()) {
    const at = `spec.externalIPs[${index}]`;
    const problems = known.includes(address) ? [] : ipProblems(address);
    findings.problems(at, address, problems);
    if (problems.length > 0) continue;
    const why = special(address);
    if (why !== undefined) findings.invalid(at, address, why);
  }
}

function special(address: string): string | undefined {
  if (address === '0.0.0.0' || address === '::') return `may not be unspecified (${address})`;
  if (address.startsWith('127.') || address === '::1') return 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  if (address.startsWith('169.254.') || /^fe[89ab]/i.test(address)) {
    return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  }
  if (/^224\.0\.0\.|^ff[0-9a-f]2:/i.test(address)) {
    return 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  }
  return undefined;
}

function balancerFindings(findings: Findings, spec: Plain, before: Plain): void {
  const isBalancer = spec.type === 'LoadBalancer';
  const only = "may only be used when `type` is 'LoadBalancer'";
  const ranges = strings(spec, 'loadBalancerSourceRanges');
  if (ranges.length > 0) {
    if (!isBalancer) findings.forbidden('spec.LoadBalancerSourceRanges', only);
    const known = new Set(strings(before, 'loadBalancerSourceRanges').map((range) => range.trim()));
    for (const [index, range] of ranges.entries()) {
      const cidr = range.trim();
      if (known.has(cidr)) continue;
      findings.problems(`spec.LoadBalancerSourceRanges[${index}]`, cidr, cidrProblems(cidr));
    }
  }
  if (isBalancer && spec.allocateLoadBalancerNodePorts === undefined) {
    findings.required('allocateLoadBalancerNodePorts');
  }
  if (!isBalancer && spec.allocateLoadBalancerNodePorts !== undefined) {
    findings.forbidden('spec.allocateLoadBalancerNodePorts', only);
  }
}

function trafficFindings(findings: Findings, spec: Plain): void {
  const policy = text(spec, 'externalTrafficPolicy');
  if (isReachable(spec)) findings.oneOf('spec.externalTrafficPolicy', policy, POLICIES, true);
  else if (policy !== '') {
    findings.invalid('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services');
  }
  const needsCheck = spec.type === 'LoadBalancer' && policy === 'Local';
  const port = number(spec, 'healthCheckNodePort') ?? 0;
  if (needsCheck) {
    if (port === 0) findings.required('spec.healthCheckNodePort');
    else findings.port('spec.healthCheckNodePort', port);
  } else if (port !== 0) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    findings.invalid('spec.healthCheckNodePort', port, why);
  }
  const inner = spec.internalTrafficPolicy;
  if (inner !== undefined) findings.oneOf('spec.internalTrafficPolicy', inner, POLICIES);
  else if (spec.type !== 'ExternalName' && TYPES.includes(text(spec, 'type'))) {
    findings.required('spec.internalTrafficPolicy');
  }
}

/** Only a service of type LoadBalancer may have a class. */
export function balancerClassCauses(spec: Plain): readonly StatusCause[] {
  const findings = new Findings();
  const field = 'spec.loadBalancerClass';
  if (spec.loadBalancerClass === undefined) return [];
  if (spec.type === 'LoadBalancer') findings.qualifiedName(field, text(spec, 'loadBalancerClass'));
  else findings.forbidden(field, "may only be used when `type` is 'LoadBalancer'");
  return findings.causes;
}

/** Validates a service, as `ValidateService` in Kubernetes. */
export function serviceCauses(service: ApiObject, old?: ApiObject): StatusCause[] {
  const before = look(old, 'spec');
  const findings = new Findings();
  const spec = look(service, 'spec');
  const type = text(spec, 'type');
  const ports = items(spec, 'ports');
  const headless = isHeadless(spec);
  if (ports.length === 0 && !headless && type !== 'ExternalName') findings.required('spec.ports');
  if (headless && (type === 'LoadBalancer' || type === 'NodePort')) {
    findings.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  }
  if (type === 'ExternalName') {
    if (strings(spec, 'clusterIPs').length > 0)
      findings.forbidden('spec.clusterIPs', 'may not be set for ExternalName services');
    if (strings(spec, 'ipFamilies').length > 0)
      findings.forbidden('spec.ipFamilies', 'may not be set for ExternalName services');
    if (spec.ipFamilyPolicy !== undefined)
      findings.forbidden('spec.ipFamilyPolicy', 'may not be set for ExternalName services');
    const name = text(spec, 'externalName').replace(/\.$/, '');
    if (name === '') findings.required('spec.externalName');
    else findings.problems('spec.externalName', name, subdomainProblems(name));
  }
  portFindings(findings, spec);
  labelFindings(findings, labels(spec, 'selector'), 'spec.selector');
  findings.oneOf('spec.sessionAffinity', spec.sessionAffinity, AFFINITIES, true);
  affinityFindings(findings, spec);
  findings.add(familyCauses(spec, before));
  addressFindings(findings, spec, before);
  findings.oneOf('spec.type', type, TYPES, true);
  nodePortFindings(findings, spec);
  balancerFindings(findings, spec, before);
  findings.add(balancerClassCauses(spec));
  trafficFindings(findings, spec);
  if (spec.trafficDistribution !== undefined) {
    const known = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
    findings.oneOf('spec.trafficDistribution', spec.trafficDistribution, known);
  }
  return findings.causes;
}

function affinityFindings(findings: Findings, spec: Plain): void {
  const config = spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const at = 'spec.sessionAffinityConfig';
    if (!isRecord(config)) findings.required(at, 'when `sessionAffinity` is ClientIP');
    else {
      const seconds = number(look(config, 'clientIP'), 'timeoutSeconds') ?? 0;
      if (seconds <= 0 || seconds > DAY_SECONDS) {
        const why = `must be greater than 0 and less than ${DAY_SECONDS}`;
        findings.invalid(`${at}.clientIP.timeoutSeconds`, seconds, why);
      }
    }
  } else if (spec.sessionAffinity === 'None' && config !== undefined) {
    const why = 'must not be set when session affinity is None';
    findings.forbidden('spec.sessionAffinityConfig', why);
  }
}
