import { forbiddenValue, internal, internalError, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import type { StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { holdsRange, parseCidr } from '../base/addresses.ts';
import { needsHealthPort, nodePortOf, picksNodePorts } from './service-types.ts';

const SERVICE_NET = [10, 96] as const;
export const SERVICE_RANGE = `${SERVICE_NET.join('.')}.0.0/16`;
export const FIRST_SERVICE_ADDRESS = `${SERVICE_NET.join('.')}.0.1`;
const SERVICE_RANGES = 'networking.k8s.io/servicecidrs';
const HOSTS = 65_534;
const FIRST_NODE_PORT = 30_000;
const NODE_PORTS = 2768;
const PORT_RANGE = `${FIRST_NODE_PORT}-${FIRST_NODE_PORT + NODE_PORTS - 1}`;

/** Returns a number below `range`: the FNV-1a hash of `seed`, modulo `range`. */
function spread(seed: string, range: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193) >>> 0;
  return hash % range;
}

/**
 * Returns the cluster IP of a service, computed from its UID and the number of the attempt (see
 * `admission/built-in/service.ts`).
 */
export function clusterAddress(uid: string, attempt = 0): string | undefined {
  if (attempt >= HOSTS) return undefined;
  const host = 1 + ((spread(uid, HOSTS) + attempt) % HOSTS);
  return `${SERVICE_NET[0]}.${SERVICE_NET[1]}.${host >> 8}.${host & 255}`;
}

export const nodePort = (uid: string, index: number, attempt = 0): number | undefined =>
  attempt >= NODE_PORTS ? undefined : FIRST_NODE_PORT + ((spread(uid, NODE_PORTS) + index + attempt) % NODE_PORTS);

const notInRange = `provided port is not in the valid range. The range of valid ports is ${PORT_RANGE}`;
const isInRange = (port: number): boolean => port >= FIRST_NODE_PORT && port < FIRST_NODE_PORT + NODE_PORTS;

/** Returns the service address ranges that are ready. */
function readyRanges(stored: StrategyContext['stored']): readonly string[] {
  const ranges = (stored?.(SERVICE_RANGES) ?? []).filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      items(status, 'conditions').some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  );
  return [SERVICE_RANGE, ...ranges.flatMap((range) => strings(look(range, 'spec'), 'cidrs'))];
}

/** The first and the last address of a service range are reserved. */
function addressProblem(address: string, stored: StrategyContext['stored']): string | undefined {
  const parsed = parseCidr(`${address}/32`);
  const isUsable = (range: string): boolean => {
    const outer = parseCidr(range);
    if (parsed === undefined || outer === undefined || !holdsRange(outer, parsed)) return false;
    const size = 2 ** (32 - outer.bits);
    const host = parsed.address.bytes.reduce((sum, byte) => sum * 256 + byte, 0) % size;
    return host > 0 && host < size - 1;
  };
  return readyRanges(stored).some(isUsable) ? undefined : 'the provided network does not match the current range';
}

/** Allocates addresses for a service, or validates the addresses that the client requested. */
export function allocateAddresses(
  service: ApiObject,
  { dryRun, stored }: StrategyContext,
  before: Plain | undefined,
): readonly StatusCause[] {
  const spec = child(service, 'spec');
  if (spec.type === 'ExternalName' || strings(spec, 'clusterIPs')[0] === 'None') return [];
  if (before !== undefined && before.type !== 'ExternalName') return [];
  const addresses = strings(spec, 'clusterIPs');
  for (const address of addresses) {
    const problem = addressProblem(address, stored);
    if (problem === undefined) continue;
    return [invalidValue('spec.clusterIPs', addresses, `failed to allocate IP ${address}: ${problem}`)];
  }
  const address = addresses[0] ?? clusterAddress(service.metadata.uid ?? '');
  const { name = '' } = service.metadata;
  const findings = new Findings();
  const at = 'spec.parentRef.name';
  if (name === '') findings.required(at);
  else findings.problems(at, name, pathSegmentProblems(name));
  const [why] = dryRun === true ? [] : findings.causes;
  if (why !== undefined) {
    const failed = `failed to allocate IP${addresses.length > 0 ? ` ${address}` : ''}`;
    const refusal = `IPAddress.networking.k8s.io "${address}" is invalid: ${at}: ${why.message}`;
    return [invalidValue('spec.clusterIPs', addresses.length > 0 ? addresses : [''], `${failed}: ${refusal}`)];
  }
  spec.clusterIP = address;
  if (addresses.length === 0) spec.clusterIPs = [address];
  return [];
}

class NodePorts {
  readonly #uid: string;
  readonly #taken: Set<number>;
  readonly #dryRun: boolean;

  constructor(service: ApiObject, dryRun: boolean) {
    this.#dryRun = dryRun;
    this.#uid = service.metadata.uid ?? '';
    this.#taken = new Set(items(look(service, 'spec'), 'ports').map(nodePortOf));
  }

  /** A dry run allocates nothing, so any port is allowed. */
  allows(port: number): boolean {
    return this.#dryRun || isInRange(port);
  }

  pick(index: number): number {
    for (let attempt = 0; ; attempt += 1) {
      const port = nodePort(this.#uid, index, attempt);
      if (port === undefined) throw internalError('failed to allocate a nodePort: range is full');
      if (this.#taken.has(port)) continue;
      this.#taken.add(port);
      return port;
    }
  }
}

/**
 * Allocates the node ports of a new service. Two ports with the same number and different protocols share a node port.
 */
function initNodePorts(spec: Plain, ports: NodePorts): readonly StatusCause[] {
  const byPort = new Map<unknown, number>();
  const allocated = new Set<number>();
  const problemOf = (port: number): string | undefined => {
    if (!ports.allows(port)) return notInRange;
    return allocated.has(port) ? 'provided port is already allocated' : undefined;
  };
  const all = items(spec, 'ports');
  for (const [index, port] of all.entries()) {
    const own = nodePortOf(port);
    if (own === 0 && !picksNodePorts(spec)) continue;
    const shared = byPort.get(port.port);
    const named = all.find((each) => each.port === port.port && nodePortOf(each) !== 0);
    const asked = shared === undefined ? nodePortOf(named) : own;
    if (shared !== undefined && (own === 0 || own === shared)) {
      port.nodePort = shared;
      continue;
    }
    const problem = asked === 0 ? undefined : problemOf(asked);
    if (problem !== undefined) return [invalidValue(`spec.ports[${index}].nodePort`, asked, problem)];
    const chosen = asked === 0 ? ports.pick(index) : asked;
    port.nodePort = chosen;
    allocated.add(chosen);
    if (shared === undefined) byPort.set(port.port, chosen);
  }
  return [];
}

/** @throws StatusError 500 if two ports of one protocol have the same node port */
function updateNodePorts(spec: Plain, before: Plain, ports: NodePorts): readonly StatusCause[] {
  const known = new Set(items(before, 'ports').map(nodePortOf));
  const seen = new Set<string>();
  for (const [index, port] of items(spec, 'ports').entries()) {
    const own = nodePortOf(port);
    if (own === 0 && !picksNodePorts(spec)) continue;
    if (own === 0) port.nodePort = ports.pick(index);
    else if (!known.has(own) && !ports.allows(own)) {
      return [invalidValue(`spec.ports[${index}].nodePort`, own, notInRange)];
    }
    const id = `${text(port, 'protocol')} ${nodePortOf(port)}`;
    if (seen.has(id)) throw internal(`duplicate nodePort: {${id}}`);
    seen.add(id);
  }
  return [];
}

function allocateHealthPort(spec: Plain, ports: NodePorts): void {
  const given = number(spec, 'healthCheckNodePort') ?? 0;
  if (given === 0) spec.healthCheckNodePort = ports.pick(items(spec, 'ports').length + 1);
  else if (!ports.allows(given)) {
    throw internalError(`failed to allocate requested HealthCheck NodePort ${given}: ${notInRange}`);
  }
}

/**
 * Allocates node ports for a service, or validates the ports that the client requested. @throws StatusError 500 if the
 * health check port is outside of the range
 */
export function allocateNodePorts(
  service: ApiObject,
  before: Plain | undefined,
  dryRun = false,
): readonly StatusCause[] {
  const spec = child(service, 'spec');
  const ports = new NodePorts(service, dryRun);
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') {
    const causes = before === undefined ? initNodePorts(spec, ports) : updateNodePorts(spec, before, ports);
    if (causes.length > 0) return causes;
  }
  if (needsHealthPort(spec) && (before === undefined || !needsHealthPort(before))) allocateHealthPort(spec, ports);
  return [];
}

/** Validates that an update keeps the health check port of a service. */
export const healthPortCauses = (spec: Plain, before: Plain): readonly StatusCause[] =>
  needsHealthPort(before) && needsHealthPort(spec) && spec.healthCheckNodePort !== before.healthCheckNodePort
    ? [forbiddenValue('spec.healthCheckNodePort', 'field is immutable')]
    : [];
