import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined, items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { isDying, isReady, isTerminal, namespaceOf, nodeNameOf } from '../objects/fields.ts';

/**
 * Returns whether the pods of a Service are its endpoints. The Service must have a selector, and must not be an
 * ExternalName Service.
 */
export const selectsPods = (service: ApiObject): boolean =>
  look(service, 'spec').type !== 'ExternalName' && Object.keys(look(service, 'spec', 'selector')).length > 0;

export function podsSelected(service: ApiObject, pods: readonly ApiObject[]): ApiObject[] {
  const selects = selectorOf({ matchLabels: look(service, 'spec', 'selector') as Record<string, string> });
  return pods.filter((pod) => selects(pod.metadata.labels ?? {}));
}

export const podsBehind = (service: ApiObject, pods: readonly ApiObject[]): ApiObject[] =>
  podsSelected(service, pods).filter((pod) => !isTerminal(pod) && addressesOf(pod).length > 0);

export function addressesOf(pod: ApiObject): string[] {
  const status = look(pod, 'status');
  const all = items(status, 'podIPs').map((one) => text(one, 'ip'));
  const single = text(status, 'podIP');
  return all.length > 0 ? all : single === '' ? [] : [single];
}

export const familiesOf = (service: ApiObject): string[] => {
  const families = strings(look(service, 'spec'), 'ipFamilies');
  return families.length > 0 ? families : ['IPv4'];
};

export const isOfFamily = (address: string, family: string): boolean => address.includes(':') === (family === 'IPv6');

/** Returns the port number of a pod for a Service port. */
function targetOf(port: Plain, pod: ApiObject): number | undefined {
  const target = port.targetPort;
  if (typeof target === 'number') return target === 0 ? number(port, 'port') : target;
  for (const container of items(look(pod, 'spec'), 'containers')) {
    const found = items(container, 'ports').find(
      (one) => one.name === target && (text(one, 'protocol') || 'TCP') === (text(port, 'protocol') || 'TCP'),
    );
    if (found !== undefined) return number(found, 'containerPort');
  }
  return undefined;
}

export function portsOn(service: ApiObject, pod: ApiObject): Plain[] {
  return items(look(service, 'spec'), 'ports').flatMap((port) => {
    const target = targetOf(port, pod);
    if (target === undefined) return [];
    const { name, appProtocol } = port;
    const protocol = text(port, 'protocol') || 'TCP';
    return [defined({ name: name ?? '', port: target, protocol, appProtocol })];
  });
}

export const targetRefOf = (pod: ApiObject): Plain => ({
  kind: 'Pod',
  namespace: namespaceOf(pod),
  name: pod.metadata.name,
  uid: pod.metadata.uid,
});

/** Returns the hostname of a pod in DNS. */
export function hostnameOf(service: ApiObject, pod: ApiObject): string | undefined {
  const spec = look(pod, 'spec');
  const hostname = text(spec, 'hostname');
  return hostname !== '' && text(spec, 'subdomain') === service.metadata.name ? hostname : undefined;
}

const NEAR = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

function hintsOf(service: ApiObject, zone: string | undefined, nodeName: string): Plain | undefined {
  const distribution = text(look(service, 'spec'), 'trafficDistribution');
  if (!NEAR.has(distribution)) return undefined;
  const forZones = zone === undefined ? {} : { forZones: [{ name: zone }] };
  const forNodes = nodeName !== '' && distribution === 'PreferSameNode' ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...forZones, ...forNodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
}

export function endpointOf(service: ApiObject, pod: ApiObject, family: string, node: ApiObject | undefined): Plain {
  const terminating = isDying(pod);
  const serving = isReady(pod);
  const ready = look(service, 'spec').publishNotReadyAddresses === true || (serving && !terminating);
  const hostname = hostnameOf(service, pod);
  const nodeName = nodeNameOf(pod);
  const zone = node?.metadata.labels?.['topology.kubernetes.io/zone'];
  const hints = ready ? hintsOf(service, zone, nodeName) : undefined;
  return defined({
    addresses: addressesOf(pod)
      .filter((address) => isOfFamily(address, family))
      .slice(0, 1),
    conditions: { ready, serving, terminating },
    hostname,
    targetRef: targetRefOf(pod),
    nodeName: nodeName || undefined,
    zone,
    hints,
  });
}
