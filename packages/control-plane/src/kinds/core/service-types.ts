import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { isReachable } from './service-rules.ts';

/** Whether the server allocates an address for a service. */
const needsAddress = (spec: Plain): boolean => spec.type !== 'ExternalName';

/** Whether the server allocates a node port for each port of a service. */
export const needsNodePorts = (spec: Plain): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

/** Whether a service has a port for health checks of its nodes. */
export const needsHealthPort = (spec: Plain): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

const nodePortOf = (port: Plain): number => number(port, 'nodePort') ?? 0;

/** Keeps allocated values that a PUT omits: addresses, node ports by the name of their port, the health check port. */
export function keepAllocated(spec: Plain, before: Plain): void {
  if (needsAddress(before) && needsAddress(spec)) {
    if (text(spec, 'clusterIP') === '') spec.clusterIP = before.clusterIP;
    const isSame = spec.clusterIP === before.clusterIP;
    if (isSame && strings(spec, 'clusterIPs').length === 0) spec.clusterIPs = before.clusterIPs;
    // A client that changes the address also changes the list.
    if (!isSame && jsonEquals(spec.clusterIPs, before.clusterIPs)) delete spec.clusterIPs;
    for (const field of ['ipFamilies', 'ipFamilyPolicy']) spec[field] ??= before[field];
  }
  if (needsNodePorts(before) && needsNodePorts(spec)) keepNodePorts(spec, before);
  if (needsHealthPort(before) && needsHealthPort(spec) && (number(spec, 'healthCheckNodePort') ?? 0) === 0) {
    spec.healthCheckNodePort = before.healthCheckNodePort;
  }
}

function keepNodePorts(spec: Plain, before: Plain): void {
  const given = new Set(items(spec, 'ports').map(nodePortOf));
  const used = new Set(
    items(before, 'ports')
      .map(nodePortOf)
      .filter((port) => given.has(port)),
  );
  const chosen = new Map(items(before, 'ports').map((port) => [text(port, 'name'), nodePortOf(port)]));
  for (const port of items(spec, 'ports')) {
    const kept = chosen.get(text(port, 'name')) ?? 0;
    if (nodePortOf(port) !== 0 || kept === 0 || used.has(kept)) continue;
    port.nodePort = kept;
    used.add(kept);
  }
}

const TYPED_FIELDS: readonly (readonly [(spec: Plain) => boolean, readonly string[]])[] = [
  [needsAddress, ['clusterIP', 'clusterIPs']],
  [needsAddress, ['ipFamilies']],
  [needsAddress, ['ipFamilyPolicy']],
  [needsHealthPort, ['healthCheckNodePort']],
  [(spec) => spec.type === 'LoadBalancer', ['allocateLoadBalancerNodePorts']],
  [(spec) => spec.type === 'LoadBalancer', ['loadBalancerClass']],
  [isReachable, ['externalTrafficPolicy']],
];

/** A change of the type removes the fields of the old type, unless the client changed them too. */
export function dropOfOldType(spec: Plain, before: Plain): void {
  for (const [needs, fields] of TYPED_FIELDS) {
    if (!needs(before) || needs(spec) || !fields.every((field) => jsonEquals(spec[field], before[field]))) continue;
    for (const field of fields) delete spec[field];
  }
  if (!needsNodePorts(before) || needsNodePorts(spec)) return;
  const [ports, old] = [items(spec, 'ports'), items(before, 'ports')];
  const known = new Set(old.map(nodePortOf));
  if (!ports.every((port) => known.has(nodePortOf(port)))) return;
  // A load balancer that does not need node ports keeps explicit ones.
  if (spec.type === 'LoadBalancer') return;
  for (const port of ports) delete port.nodePort;
}
