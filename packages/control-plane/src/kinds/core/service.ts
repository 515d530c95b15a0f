import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import {
  child,
  isPlain,
  items,
  look,
  number,
  type Plain,
  preset,
  strings,
  text,
} from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems, parseAddress } from '../base/addresses.ts';
import type { Strategy } from '../base/strategy.ts';
import { balancerClassCauses, familiesOf, isReachable, serviceCauses } from './service-rules.ts';
import { dropOfOldType, keepAllocated, needsHealthPort, needsNodePorts } from './service-types.ts';

const SERVICE_NET = [10, 96] as const;
/** The address range of services. */
export const SERVICE_RANGE = `${SERVICE_NET.join('.')}.0.0/16`;
const HOSTS = 65_534;
const FIRST_NODE_PORT = 30_000;
const NODE_PORTS = 2768;
const CLIENT_IP_SECONDS = 10_800;

function defaultService(service: ApiObject): void {
  const spec = child(service, 'spec');
  preset(spec, 'sessionAffinity', 'None');
  preset(spec, 'type', 'ClusterIP');
  if (spec.sessionAffinity === 'ClientIP') {
    child(child(spec, 'sessionAffinityConfig'), 'clientIP').timeoutSeconds ??= CLIENT_IP_SECONDS;
  }
  for (const port of items(spec, 'ports')) {
    preset(port, 'protocol', 'TCP');
    if (port.targetPort === 0 || port.targetPort === '' || port.targetPort === undefined) {
      port.targetPort = port.port;
    }
  }
  const type = text(spec, 'type');
  if (isReachable(spec)) preset(spec, 'externalTrafficPolicy', 'Cluster');
  if (type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  if (type === 'LoadBalancer') {
    for (const point of pointsOf(service)) if (text(point, 'ip') !== '') point.ipMode ??= 'VIP';
  }
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
}

/** A number below `range` that depends only on the text (FNV-1a). */
function spread(seed: string, range: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193) >>> 0;
  return hash % range;
}

/**
 * An address of the service network, derived from the uid of the service; `attempt` counts occupied ones (see
 * `admission/service.ts`). Undefined when all attempts failed.
 */
export function clusterAddress(uid: string, attempt = 0): string | undefined {
  if (attempt >= HOSTS) return undefined;
  const host = 1 + ((spread(uid, HOSTS) + attempt) % HOSTS);
  return `${SERVICE_NET[0]}.${SERVICE_NET[1]}.${host >> 8}.${host & 255}`;
}

/** The node port of the port at `index`, derived in the same way. */
export const nodePort = (uid: string, index: number, attempt = 0): number | undefined =>
  attempt >= NODE_PORTS ? undefined : FIRST_NODE_PORT + ((spread(uid, NODE_PORTS) + index + attempt) % NODE_PORTS);

function allocate(service: ApiObject): void {
  const spec = child(service, 'spec');
  const type = text(spec, 'type');
  if (type === 'ExternalName') return;
  const { uid = '' } = service.metadata;
  const headless = spec.clusterIP === 'None';
  preset(spec, 'clusterIP', clusterAddress(uid));
  if (strings(spec, 'clusterIPs').length === 0) spec.clusterIPs = [spec.clusterIP];
  // A headless service without a selector may have any family.
  const open = headless && spec.selector === undefined;
  spec.ipFamilyPolicy ??= open ? 'RequireDualStack' : 'SingleStack';
  if (strings(spec, 'ipFamilies').length === 0) spec.ipFamilies = open ? ['IPv4', 'IPv6'] : ['IPv4'];
  // Only some policies need a health check port.
  if (needsHealthPort(spec) && (number(spec, 'healthCheckNodePort') ?? 0) === 0) {
    spec.healthCheckNodePort = nodePort(uid, items(spec, 'ports').length + 1);
  }
  if (!needsNodePorts(spec)) return;
  for (const [index, port] of items(spec, 'ports').entries()) {
    if ((number(port, 'nodePort') ?? 0) === 0) {
      port.nodePort = nodePort(uid, index);
    }
  }
}

/** The address of a service is immutable, unless its type changes from or to ExternalName. The class of a load balancer is immutable too. */
function changeCauses(service: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(service, 'spec');
  const before = look(old, 'spec');
  const causes: StatusCause[] = [];
  const hasAddress = before.type !== 'ExternalName' && spec.type !== 'ExternalName' && text(before, 'clusterIP') !== '';
  if (hasAddress && !jsonEquals(spec.clusterIP, before.clusterIP)) {
    causes.push(invalidValue('spec.clusterIPs[0]', spec.clusterIPs, 'may not change once set'));
  }
  if (before.type === 'LoadBalancer' && spec.type === 'LoadBalancer') {
    if (spec.loadBalancerClass !== before.loadBalancerClass) {
      causes.push(invalidValue('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set'));
    }
  }
  causes.push(...balancerClassCauses(spec));
  if (needsHealthPort(before) && needsHealthPort(spec) && spec.healthCheckNodePort !== before.healthCheckNodePort) {
    causes.push(forbiddenValue('spec.healthCheckNodePort', 'field is immutable'));
  }
  return causes;
}

const pointsOf = (service: ApiObject): Plain[] => items(look(service, 'status', 'loadBalancer'), 'ingress');

/** Validates the addresses of a load balancer (`ValidateLoadBalancerStatus`). Existing addresses keep their form. */
function balancerCauses(service: ApiObject, old: ApiObject): StatusCause[] {
  const findings = new Findings();
  const points = pointsOf(service);
  const field = 'status.loadBalancer.ingress';
  if (points.length > 0 && look(service, 'spec').type !== 'LoadBalancer') {
    findings.forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'");
    return findings.causes;
  }
  const known = new Set(pointsOf(old).map((point) => text(point, 'ip')));
  for (const [index, point] of points.entries()) {
    const at = `${field}[${index}]`;
    const [ip, hostname] = [text(point, 'ip'), text(point, 'hostname')];
    if (ip !== '' && !known.has(ip)) findings.problems(`${at}.ip`, ip, ipProblems(ip));
    if (point.ipMode === undefined) {
      if (ip !== '') findings.required(`${at}.ipMode`, 'must be specified when `ip` is set');
    } else if (ip === '') findings.forbidden(`${at}.ipMode`, 'may not be specified when `ip` is not set');
    else findings.oneOf(`${at}.ipMode`, point.ipMode, ['Proxy', 'VIP']);
    if (hostname === '') continue;
    findings.problems(`${at}.hostname`, hostname, subdomainProblems(hostname));
    if (parseAddress(hostname) !== undefined) {
      findings.invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address');
    }
  }
  return findings.causes;
}

export const serviceStrategy: Strategy = {
  setDefaults: defaultService,
  prepareForCreate(service, { subresource }) {
    service.status = { loadBalancer: {} };
    // A service that a write of its status creates gets no address.
    if (subresource === '') allocate(service);
  },
  prepareForUpdate(service, old, { subresource }) {
    if (subresource !== '') return;
    const spec = child(service, 'spec');
    const before = look(old, 'spec');
    keepAllocated(spec, before);
    dropOfOldType(spec, before);
    // A service without endpoints has no policy for them.
    if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy;
    allocate(service);
    if (!isPlain(service.status)) service.status = { loadBalancer: {} };
  },
  validate: serviceCauses,
  validateUpdate(service, old, { subresource }) {
    if (subresource === 'status') return balancerCauses(service, old);
    // Addresses are allocated before the validation, so errors of addresses are reported alone.
    const unfit = familiesOf(look(service, 'spec'));
    return unfit.length > 0 ? [...unfit] : [...changeCauses(service, old), ...serviceCauses(service)];
  },
};
