import { isIP } from 'node:net';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { defined, items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../client/resources.ts';
import { isDying, namespaceOf, ownerReference } from '../objects/fields.ts';
import { keyOf } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { isTerminating } from '../workloads/pods.ts';
import { orderSlicePorts } from './order.ts';
import type { SliceContent } from './slice-plan.ts';
import { TRIGGER_TIME } from './trigger-times.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SELF = 'endpointslicemirroring-controller.k8s.io';
const SKIP = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER = 'control-plane.alpha.kubernetes.io/leader';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const MOST = 1000;

export interface Mirrored {
  readonly contents: readonly SliceContent[];
  readonly invalid: number;
  readonly skipped: number;
}

const portOf = ({ name, port, protocol, appProtocol }: Plain): Plain =>
  defined({
    name: name ?? '',
    port,
    protocol: protocol ?? 'TCP',
    appProtocol,
  });

const endpointOf = ({ ip, hostname, nodeName, targetRef }: Plain, ready: boolean): Plain =>
  defined({
    addresses: [ip],
    conditions: { ready },
    hostname: hostname || undefined,
    nodeName,
    targetRef,
  });

/**
 * Converts Endpoints to EndpointSlices. Each slice has one address family and one list of ports. If the number of
 * addresses exceeds the limit, the controller mirrors ready addresses first (`reconcile`).
 */
export function mirror(endpoints: ApiObject): Mirrored {
  const portsOf = (subset: Plain | undefined): Plain[] => orderSlicePorts(items(subset, 'ports').map(portOf));
  const byPorts = Map.groupBy(items(endpoints, 'subsets'), (subset) => JSON.stringify(portsOf(subset)));
  const contents: SliceContent[] = [];
  let invalid = 0;
  let skipped = 0;
  for (const subsets of byPorts.values()) {
    const all = (field: string): Plain[] => subsets.flatMap((subset) => items(subset, field));
    const seen = new Map<string, Plain>();
    for (const address of all('notReadyAddresses')) seen.set(text(address, 'ip'), endpointOf(address, false));
    for (const address of all('addresses')) {
      // If an address is ready in one subset, the address is ready in all subsets.
      seen.delete(text(address, 'ip'));
      seen.set(text(address, 'ip'), endpointOf(address, true));
    }
    const readyFirst = [...seen].sort(
      ([, a], [, b]) => Number(look(b, 'conditions').ready) - Number(look(a, 'conditions').ready),
    );
    const valid = readyFirst.filter(([ip]) => isIP(ip) !== 0);
    invalid += seen.size - valid.length;
    skipped += seen.size - Math.min(valid.length, MOST);
    const ports = portsOf(subsets[0]);
    for (const [addressType, family] of [['IPv4', 4] as const, ['IPv6', 6] as const]) {
      const taken = valid.slice(0, MOST).filter(([ip]) => isIP(ip) === family);
      if (taken.length > 0) contents.push({ addressType, ports, endpoints: taken.map(([, endpoint]) => endpoint) });
    }
  }
  return { contents, invalid, skipped };
}

/**
 * Returns the labels and annotations of a mirrored slice. The slice gets all labels and most annotations of the
 * Endpoints object, and two more labels.
 */
function metadataOf(endpoints: ApiObject): { labels: Record<string, string>; annotations: Record<string, string> } {
  const { name = '', labels, annotations = {} } = endpoints.metadata;
  const kept = Object.entries(annotations).filter(([key]) => key !== TRIGGER_TIME && key !== LAST_APPLIED);
  return {
    labels: { ...labels, [SERVICE_NAME]: name, [MANAGED_BY]: SELF },
    annotations: Object.fromEntries(kept),
  };
}

const isMirrored = ({ metadata: { labels, annotations } }: ApiObject): boolean =>
  labels?.[SKIP] !== 'true' && annotations?.[LEADER] === undefined;

const isOwn = (slice: ApiObject): boolean => slice.metadata.labels?.[MANAGED_BY] === SELF;

const sorted = (list: readonly Plain[]): string[] =>
  list.map((one) => JSON.stringify(Object.entries(one).sort())).sort();

function isSame(slice: ApiObject, endpoints: ApiObject, content: SliceContent): boolean {
  const { labels, annotations } = metadataOf(endpoints);
  return (
    jsonEquals(sorted(items(slice, 'endpoints')), sorted(content.endpoints)) &&
    jsonEquals(items(slice, 'ports'), content.ports) &&
    jsonEquals(slice.metadata.labels ?? {}, labels) &&
    jsonEquals(slice.metadata.annotations ?? {}, annotations) &&
    slice.metadata.ownerReferences?.some(({ uid }) => uid === endpoints.metadata.uid) === true
  );
}

/** Removes a slice with the address family from `free` for reuse. The function prefers a slice with equal ports. */
function claim(free: ApiObject[], { addressType, ports }: SliceContent): ApiObject | undefined {
  const alike = free.findIndex((one) => one.addressType === addressType && jsonEquals(items(one, 'ports'), ports));
  const at = alike !== -1 ? alike : free.findIndex((one) => one.addressType === addressType);
  return at === -1 ? undefined : free.splice(at, 1)[0];
}

async function write(api: Api, source: ApiObject, slice: ApiObject | undefined, content: SliceContent): Promise<void> {
  if (slice !== undefined && isSame(slice, source, content)) return;
  const { namespace = '', name } = source.metadata;
  const ownerReferences = [ownerReference({ ...source, apiVersion: 'v1', kind: 'Endpoints' })];
  const metadata = { ...metadataOf(source), namespace, ownerReferences };
  const object = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', ...content };
  if (slice !== undefined) {
    const { name: own = '', resourceVersion = '' } = slice.metadata;
    await api.update(ENDPOINT_SLICES, { ...object, metadata: { ...metadata, name: own, resourceVersion } });
  } else if (!isDying(source)) {
    await api.create(
      ENDPOINT_SLICES,
      { ...object, metadata: { ...metadata, generateName: `${name}-` } },
      { namespace },
    );
  }
}

async function remove(api: Api, list: readonly ApiObject[]): Promise<void> {
  for (const { metadata } of list) {
    const { namespace, name } = metadata;
    await allowing(api.delete(ENDPOINT_SLICES, { namespace, name }), 404);
  }
}

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const services = informer(SERVICES);
  const endpoints = informer(ENDPOINTS);
  const slices = informer(ENDPOINT_SLICES);
  const tell = recorder('endpoint-slice-mirroring-controller');
  const slicesOf = slices.index((slice) =>
    isOwn(slice) ? [`${namespaceOf(slice)}/${slice.metadata.labels?.[SERVICE_NAME]}`] : [],
  );

  const work = queue(async (key) => {
    const source = endpoints.get(key);
    const service = services.get(key);
    const known = slicesOf(key).filter((slice) => !isDying(slice));
    const selects = look(service, 'spec').selector !== undefined;
    if (source === undefined || !isMirrored(source) || service === undefined || selects) return remove(api, known);
    const { contents, invalid, skipped } = mirror(source);
    if (invalid > 0) {
      const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
      tell(source, 'Warning', 'InvalidIPAddress', message);
    }
    if (skipped > invalid) {
      const most = `A max of ${MOST} addresses can be mirrored to EndpointSlices per Endpoints subset.`;
      tell(source, 'Warning', 'TooManyAddressesToMirror', `${most} ${skipped} addresses were skipped`);
    }
    const free = [...known];
    try {
      for (const content of contents) await write(api, source, claim(free, content), content);
    } catch (error) {
      // A terminating namespace refuses new slices.
      if (!isTerminating(error)) throw error;
    }
    await remove(api, free);
  });

  endpoints.onChange(({ object, old }) => {
    if (isMirrored(object) || (old !== undefined && isMirrored(old))) work.add(keyOf(object));
  });
  services.onChange(({ type, object, old }) => {
    const selects = (one: ApiObject): boolean => look(one, 'spec').selector !== undefined;
    if (type === 'updated' && old !== undefined ? selects(old) !== selects(object) : !selects(object)) {
      work.add(keyOf(object));
    }
  });
  slices.onChange(({ object, old }) => {
    for (const slice of old === undefined ? [object] : [object, old]) {
      const name = slice.metadata.labels?.[SERVICE_NAME];
      if (isOwn(slice) && name !== undefined) work.add(`${namespaceOf(slice)}/${name}`);
    }
  });
}

/**
 * For Services without a selector, copies the Endpoints of users to EndpointSlices.
 * @see kubernetes pkg/controller/endpointslicemirroring
 */
export const sliceMirroring: Controller = { name: 'endpointslicemirroring', setup };
