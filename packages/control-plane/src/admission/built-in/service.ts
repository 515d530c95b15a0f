import { internal, internalError, invalid, invalidValue } from '../../apimachinery/errors/errors.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, strings } from '../../apimachinery/objects/plain.ts';
import { clusterAddress, nodePort } from '../../kinds/core/service-ports.ts';
import { needsHealthPort, nodePortOf } from '../../kinds/core/service-types.ts';
import type { AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';

const SERVICES = '/services';
const IP_ADDRESSES = 'networking.k8s.io/ipaddresses';
/** If a Service is not stored yet, its claim expires after this time, which is longer than the timeout of webhooks. */
const PENDING_MS = 60_000;

interface Claim {
  readonly namespace: string;
  readonly name: string;
  readonly at: number;
  /**
   * Whether the store already contains the Service. The claim of a stored Service is valid only while the Service has
   * the address or port.
   */
  stored: boolean;
}

/**
 * `Claims` keeps old addresses and ports of changed Services. Before another Service gets an address, `claim` checks
 * whether the old claim is still valid.
 */
class Claims {
  readonly #registry: Registry;
  readonly #claims = new Map<string, Claim>();

  constructor(registry: Registry) {
    this.#registry = registry;
    for (const { json } of registry.store.list(SERVICES).records) {
      const service = JSON.parse(json) as ApiObject;
      for (const thing of held(service)) this.#take(thing, service, 0);
    }
    for (const claim of this.#claims.values()) claim.stored = true;
    registry.store.subscribe(SERVICES, ({ record }) => {
      for (const thing of held(JSON.parse(record.json) as ApiObject)) {
        const claim = this.#claims.get(thing);
        if (claim?.namespace === record.namespace && claim.name === record.name) claim.stored = true;
      }
    });
  }

  /**
   * Claims a free address or port for a service, and returns whether the address or port was free. If `isTrial` is
   * true, `claim` only checks the address or port.
   */
  claim(thing: string, service: ApiObject, isTrial: boolean): boolean {
    const now = this.#registry.now().getTime();
    const claim = this.#claims.get(thing);
    const { namespace, name } = service.metadata;
    const isOwn = claim?.namespace === namespace && claim?.name === name;
    if (claim !== undefined && !isOwn && this.#holds(claim, thing, now)) return false;
    if (!isOwn && this.#isForeign(thing)) return false;
    if (!isTrial && !isOwn) this.#take(thing, service, now);
    return true;
  }

  #isForeign(thing: string): boolean {
    const record = this.#registry.store.get(IP_ADDRESSES, '', thing);
    if (record === undefined) return false;
    return look(JSON.parse(record.json) as ApiObject, 'spec', 'parentRef').resource !== 'services';
  }

  #take(thing: string, { metadata: { namespace = '', name = '' } }: ApiObject, at: number): void {
    this.#claims.set(thing, { namespace, name, at, stored: false });
  }

  #holds({ namespace, name, at, stored }: Claim, thing: string, now: number): boolean {
    const record = this.#registry.store.get(SERVICES, namespace, name);
    if (record === undefined) return !stored && now - at < PENDING_MS;
    return held(JSON.parse(record.json) as ApiObject).includes(thing);
  }
}

const portThing = (port: number): string => `port ${port}`;

function held(service: ApiObject): string[] {
  const spec = look(service, 'spec');
  const addresses = strings(spec, 'clusterIPs').filter((address) => address !== '' && address !== 'None');
  const ports = [...items(spec, 'ports').map(nodePortOf), number(spec, 'healthCheckNodePort') ?? 0];
  return [...addresses, ...ports.filter((port) => port !== 0).map(portThing)];
}

function firstFree<T>(choices: (attempt: number) => T | undefined, isFree: (choice: T) => boolean, what: string): T {
  for (let attempt = 0; ; attempt++) {
    const choice = choices(attempt);
    if (choice === undefined) throw internal(`failed to allocate a ${what}: range is full`);
    if (isFree(choice)) return choice;
  }
}

/**
 * Prevents two Services from sharing an address or a node port. If the client chose a used address, the plugin refuses
 * the request. As in kube-apiserver, the plugin runs between mutating and validating admission.
 */
export function serviceAddresses(registry: Registry): AdmissionPlugin {
  let claims: Claims | undefined;
  return {
    name: 'ServiceAddresses',
    validate({ served, subresource, operation, object: service, name, dryRun }) {
      if (service === undefined || served.resource !== SERVICES || subresource !== '') return undefined;
      if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined;
      claims ??= new Claims(registry);
      const known = claims;
      const spec = look(service, 'spec');
      const { uid = '' } = service.metadata;
      const isFree = (thing: string): boolean => known.claim(thing, service, dryRun);
      const [address = 'None'] = strings(spec, 'clusterIPs');
      if (address !== 'None' && address !== '' && !isFree(address)) {
        if (address !== clusterAddress(uid)) {
          const why = `failed to allocate IP ${address}: provided IP is already allocated`;
          throw invalid(served.kind, name, [invalidValue('spec.clusterIPs', spec.clusterIPs, why)]);
        }
        spec.clusterIP = firstFree((attempt) => clusterAddress(uid, attempt), isFree, 'service IP');
        spec.clusterIPs = [spec.clusterIP];
      }
      claimPorts(served.kind, service, name, isFree);
      return undefined;
    },
  };
}

const isPicked = (uid: string, index: number, ports: number, given: number): boolean =>
  Array.from({ length: ports + 2 }, (_, attempt) => nodePort(uid, index, attempt)).includes(given);

/** If the server chose an occupied port, the plugin chooses a free port. */
function claimPorts(kind: KindDefinition, service: ApiObject, name: string, isFree: (thing: string) => boolean): void {
  const spec = look(service, 'spec');
  const { uid = '' } = service.metadata;
  const ports = items(spec, 'ports');
  const again = (index: number): number =>
    firstFree(
      (attempt) => nodePort(uid, index, attempt),
      (choice) => ports.every((each) => nodePortOf(each) !== choice) && isFree(portThing(choice)),
      'node port',
    );
  for (const [index, port] of ports.entries()) {
    const given = nodePortOf(port);
    if (given === 0 || isFree(portThing(given))) continue;
    const why = 'provided port is already allocated';
    if (!isPicked(uid, index, ports.length, given)) {
      throw invalid(kind, name, [invalidValue(`spec.ports[${index}].nodePort`, given, why)]);
    }
    const picked = again(index);
    for (const each of ports) if (nodePortOf(each) === given) each.nodePort = picked;
  }
  const health = needsHealthPort(spec) ? (number(spec, 'healthCheckNodePort') ?? 0) : 0;
  if (health === 0 || isFree(portThing(health))) return;
  const index = ports.length + 1;
  if (!isPicked(uid, index, ports.length, health)) {
    const why = 'provided port is already allocated';
    throw internalError(`failed to allocate requested HealthCheck NodePort ${health}: ${why}`);
  }
  spec.healthCheckNodePort = again(index);
}
