import { invalid, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import type { StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { renderObject } from '../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, preset, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems, parseAddress } from '../base/addresses.ts';
import type { Strategy } from '../base/strategy.ts';
import { familyChangeCauses, initFamilies } from './service-families.ts';
import { allocateAddresses, allocateNodePorts, healthPortCauses } from './service-ports.ts';
import { balancerClassCauses, isReachable, serviceCauses } from './service-rules.ts';
import { dropOfOldType, keepAllocated, normalizeAddresses } from './service-types.ts';

const SERVICE = { group: '', kind: 'Service' };
const CLIENT_IP_SECONDS = 10_800;

function defaultService(service: ApiObject): void {
  const spec = child(service, 'spec');
  preset(spec, 'sessionAffinity', 'None');
  preset(spec, 'type', 'ClusterIP');
  if (
    spec.sessionAffinity === 'ClientIP' &&
    look(spec, 'sessionAffinityConfig', 'clientIP').timeoutSeconds === undefined
  ) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: CLIENT_IP_SECONDS } };
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
  if (['ClusterIP', 'LoadBalancer', 'NodePort'].includes(type)) spec.internalTrafficPolicy ??= 'Cluster';
}

/** Allocates the addresses and node ports of a service. If the allocation fails, the server reports no other errors. */
function allocate(service: ApiObject, context: StrategyContext, before?: Plain): void {
  const spec = child(service, 'spec');
  const steps = [
    () => initFamilies(spec, before),
    () => allocateAddresses(service, context, before),
    () => allocateNodePorts(service, before, context.dryRun),
  ];
  for (const step of steps) {
    const causes = step();
    if (causes.length > 0) throw invalid(SERVICE, service.metadata.name ?? '', causes);
  }
}

/** Validates an update of a service. */
function changeCauses(spec: Plain, before: Plain): StatusCause[] {
  const causes: StatusCause[] = [...familyChangeCauses(spec, before)];
  if (before.type === 'LoadBalancer' && spec.type === 'LoadBalancer') {
    if (spec.loadBalancerClass !== before.loadBalancerClass) {
      causes.push(invalidValue('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set'));
    }
  }
  return [...causes, ...balancerClassCauses(spec), ...healthPortCauses(spec, before)];
}

const pointsOf = (service: ApiObject): Plain[] => items(look(service, 'status', 'loadBalancer'), 'ingress');

/** Validates the load balancer addresses in the status of a service (`ValidateLoadBalancerStatus`). */
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

/**
 * Returns the spec for a response. The spec contains the list of addresses, and the spec of an ExternalName Service has
 * no `internalTrafficPolicy`.
 */
function readSpec(spec: Plain): Plain {
  const shown = { ...spec };
  normalizeAddresses(shown, undefined);
  if (shown.type === 'ExternalName') delete shown.internalTrafficPolicy;
  return shown;
}

function shownService(json: string): string {
  if (!json.includes('"type":"ExternalName"')) return json;
  const service = parseJson(json) as ApiObject;
  return renderObject({ ...service, spec: readSpec(look(service, 'spec')) }, undefined);
}

export const serviceStrategy: Strategy = {
  setDefaults: defaultService,
  prepareForCreate(service, context) {
    // A server-side apply of the status can create a service, which then has no address.
    if (context.subresource === '') {
      normalizeAddresses(child(service, 'spec'), undefined);
      allocate(service, context);
    }
    service.status = { loadBalancer: {} };
  },
  prepareForUpdate(service, old, context) {
    if (context.subresource !== '') return;
    const spec = child(service, 'spec');
    const before = readSpec(look(old, 'spec'));
    keepAllocated(spec, before);
    normalizeAddresses(spec, before);
    allocate(service, context, before);
    dropOfOldType(spec, before);
    if (spec.type !== 'LoadBalancer') service.status = { ...look(service, 'status'), loadBalancer: {} };
  },
  shownAs: shownService,
  validate: (service) => serviceCauses(service),
  validateUpdate(service, old, { subresource }) {
    if (subresource === 'status') return balancerCauses(service, old);
    const shown = { ...old, spec: readSpec(look(old, 'spec')) };
    return [...changeCauses(look(service, 'spec'), shown.spec), ...serviceCauses(service, shown)];
  },
};
