import { items, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { sameStrings } from './service-families.ts';
import { isReachable } from './service-rules.ts';

const needsAddress = (spec: Plain): boolean => spec.type !== 'ExternalName';

const hasNodePorts = (spec: Plain): boolean => spec.type === 'NodePort' || spec.type === 'LoadBalancer';

export const picksNodePorts = (spec: Plain): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

export const needsHealthPort = (spec: Plain): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const nodePortOf = (port: Plain | undefined): number => number(port, 'nodePort') ?? 0;

/** Copies addresses, the health check port and node ports from the old service if the client omits them. */
export function keepAllocated(spec: Plain, before: Plain): void {
  if (needsAddress(before) && needsAddress(spec)) {
    if (text(spec, 'clusterIP') === '' && text(before, 'clusterIP') !== '') spec.clusterIP = before.clusterIP;
    if (strings(spec, 'clusterIPs').length === 0 && strings(before, 'clusterIPs').length > 0) {
      spec.clusterIPs = before.clusterIPs;
    }
  }
  if (picksNodePorts(before) && picksNodePorts(spec)) keepNodePorts(spec, before);
  if (needsHealthPort(before) && needsHealthPort(spec) && (number(spec, 'healthCheckNodePort') ?? 0) === 0) {
    spec.healthCheckNodePort = before.healthCheckNodePort;
  }
}

/** If a client writes only `clusterIP`, the list `clusterIPs` gets this address. */
export function normalizeAddresses(spec: Plain, before: Plain | undefined): void {
  const address = text(spec, 'clusterIP');
  if (before === undefined) {
    if (address !== '' && strings(spec, 'clusterIPs').length === 0) spec.clusterIPs = [address];
    return;
  }
  const old = text(before, 'clusterIP');
  if (strings(spec, 'clusterIPs').length === 0 && strings(before, 'clusterIPs').length > 0 && old === address) {
    spec.clusterIPs = before.clusterIPs;
  }
  if (old === address || !sameStrings(before, spec, 'clusterIPs')) return;
  if (address === '') delete spec.clusterIPs;
  else spec.clusterIPs = [address];
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
  }
}

const isBalancer = (spec: Plain): boolean => spec.type === 'LoadBalancer';
const textsOf = (spec: Plain, fields: readonly string[]): string => JSON.stringify(fields.map((field) => spec[field]));

const TYPED_FIELDS: readonly (readonly [(spec: Plain) => boolean, readonly string[]])[] = [
  [needsAddress, ['clusterIP', 'clusterIPs']],
  [needsAddress, ['ipFamilies']],
  [needsAddress, ['ipFamilyPolicy']],
  [needsHealthPort, ['healthCheckNodePort']],
  [isBalancer, ['allocateLoadBalancerNodePorts']],
  [isBalancer, ['loadBalancerClass']],
  [isReachable, ['externalTrafficPolicy']],
];

/**
 * Removes fields that only the old type of a service needs. If the client changed such a field together with the type,
 * the field stays.
 */
export function dropOfOldType(spec: Plain, before: Plain): void {
  for (const [needs, fields] of TYPED_FIELDS) {
    if (!needs(before) || needs(spec) || textsOf(spec, fields) !== textsOf(before, fields)) continue;
    for (const field of fields) delete spec[field];
  }
  if (!hasNodePorts(before) || hasNodePorts(spec)) return;
  const known = new Set([0, ...items(before, 'ports').map(nodePortOf)]);
  if (!items(spec, 'ports').every((port) => known.has(nodePortOf(port)))) return;
  for (const port of items(spec, 'ports')) delete port.nodePort;
}
