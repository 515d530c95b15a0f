import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { defined, items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { ENDPOINTS, PODS, SERVICES } from '../client/resources.ts';
import { isDying, isReady, labelPatch, nodeNameOf } from '../objects/fields.ts';
import { namespaceWords } from '../objects/index-words.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import {
  addressesOf,
  familiesOf,
  hostnameOf,
  isOfFamily,
  podsBehind,
  podsSelected,
  portsOn,
  selectsPods,
  targetRefOf,
} from './backends.ts';
import { followPods } from './follow.ts';
import { orderPorts, orderSubsets } from './order.ts';
import { TriggerTimes, triggerAnnotation, withoutNulls } from './trigger-times.ts';

const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const SELF = 'endpoint-controller';
const HEADLESS = 'service.kubernetes.io/headless';

/** The maximum number of addresses. An annotation marks an Endpoints object whose list of addresses was truncated. */
const MOST = 1000;
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';

/** Each subset loses addresses in proportion to its size. Unready addresses are removed first (`truncateEndpoints`). */
export function truncate(subsets: readonly Plain[]): { subsets: Plain[]; isCut: boolean } {
  const count = (field: string): number => subsets.reduce((sum, subset) => sum + items(subset, field).length, 0);
  const [ready, unready] = [count('addresses'), count('notReadyAddresses')];
  if (ready + unready <= MOST) return { subsets: [...subsets], isCut: false };
  const [field, all, most] = ready > MOST ? ['addresses', ready, MOST] : ['notReadyAddresses', unready, MOST - ready];
  let left = most;
  const cut = subsets.map((subset) => {
    const given = items(subset, field);
    const kept = given.slice(0, Math.min(left, Math.ceil((given.length / all) * most)));
    left -= kept.length;
    const { notReadyAddresses: _unready, ...rest } = subset;
    const result: Plain = { ...rest, [field]: kept };
    if (kept.length === 0) delete result[field];
    return result;
  });
  return { subsets: cut, isCut: true };
}

const byAddress = (a: Plain, b: Plain): number => (String(a.ip) < String(b.ip) ? -1 : 1);

interface Place {
  readonly address: Plain;
  readonly isReady: boolean;
}

/** Returns the endpoint address of a pod. */
function placeOf(service: ApiObject, pod: ApiObject, family: string, all: boolean): Place | undefined {
  const ip = addressesOf(pod).find((address) => isOfFamily(address, family));
  if (ip === undefined) return undefined;
  const hostname = hostnameOf(service, pod);
  const nodeName = nodeNameOf(pod);
  const address = defined({
    ip,
    hostname,
    nodeName: nodeName || undefined,
    targetRef: targetRefOf(pod),
  });
  return { address, isReady: all || isReady(pod) };
}

const addressesIn = (places: readonly Place[], ready: boolean): Plain[] =>
  places
    .filter(({ isReady }) => isReady === ready)
    .map(({ address }) => address)
    .sort(byAddress);

/** Returns the subsets of an Endpoints object. Ports that the same pods serve are in one subset (`RepackSubsets`). */
export function subsetsOf(service: ApiObject, pods: readonly ApiObject[]): Plain[] {
  const [family = 'IPv4'] = familiesOf(service);
  const all = look(service, 'spec').publishNotReadyAddresses === true;
  const isPortless = items(look(service, 'spec'), 'ports').length === 0;
  const offers = new Map<string, { port: Plain | undefined; places: Place[] }>();
  for (const pod of podsBehind(service, pods)) {
    if (isDying(pod) && !all) continue;
    const place = placeOf(service, pod, family, all);
    if (place === undefined) continue;
    const ports = portsOn(service, pod).map(({ name, ...port }) => (name === '' ? port : { name, ...port }));
    for (const port of isPortless ? [undefined] : ports) {
      const id = JSON.stringify(port ?? null);
      const offer = offers.get(id) ?? { port, places: [] };
      offers.set(id, offer);
      offer.places.push(place);
    }
  }
  const together = Map.groupBy(offers.values(), ({ places }) =>
    JSON.stringify(places.map(({ address, isReady }) => [address.ip, isReady])),
  );
  const subsets = [...together.values()].map((shared) => {
    const places = shared[0]?.places ?? [];
    const [addresses, notReadyAddresses] = [addressesIn(places, true), addressesIn(places, false)];
    const ports = orderPorts(shared.map(({ port }) => port).filter((port) => port !== undefined));
    return defined({
      addresses: addresses.length === 0 ? undefined : addresses,
      notReadyAddresses: notReadyAddresses.length === 0 ? undefined : notReadyAddresses,
      ports: ports.length === 0 ? undefined : ports,
    });
  });
  return orderSubsets(subsets);
}

function setup({ api, informer, queue }: ControllerContext): void {
  const services = informer(SERVICES);
  const endpoints = informer(ENDPOINTS);
  const pods = informer(PODS);
  const podsIn = pods.index(namespaceWords);
  const times = new TriggerTimes();
  const refused = new Set<string>();

  const work = queue(async (key) => {
    const { namespace, name } = splitKey(key);
    const service = services.get(key);
    const known = endpoints.get(key);
    if (service === undefined || isDying(service)) {
      times.forget(key);
      // The deletion of a Service also deletes the Endpoints object with its name.
      if (service === undefined && known !== undefined) await allowing(api.delete(ENDPOINTS, { namespace, name }), 404);
      return;
    }
    if (!selectsPods(service)) return;
    const all = podsIn(namespace);
    const changed = times.changeOf(key, service, podsSelected(service, all));
    const { subsets, isCut } = truncate(subsetsOf(service, all));
    const annotations = { ...triggerAnnotation(changed), [OVER_CAPACITY]: isCut ? 'truncated' : null };
    const labels: Record<string, string> = { ...service.metadata.labels, [MANAGED_BY]: SELF };
    if (look(service, 'spec').clusterIP === 'None') labels[HEADLESS] = '';
    if (known === undefined) {
      const object = {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name, labels, annotations: withoutNulls(annotations) },
        subsets,
      };
      await allowing(api.create(ENDPOINTS, object, { namespace }), 403, 404, 409);
      return;
    }
    const isMarked = (known.metadata.annotations?.[OVER_CAPACITY] !== undefined) === isCut;
    const isSame = jsonEquals(items(known, 'subsets'), subsets) && jsonEquals(known.metadata.labels ?? {}, labels);
    if (isSame && isMarked) return;
    const { uid, resourceVersion } = known.metadata;
    const patch = {
      metadata: { uid, resourceVersion, labels: labelPatch(known.metadata.labels, labels), annotations },
      subsets: subsets.length === 0 ? null : subsets,
    };
    const done = await allowing(api.patch(ENDPOINTS, { namespace, name }, patch), 404, 409);
    if (done === undefined) refused.add(key);
  });

  followPods({ services, pods, add: (service) => work.add(keyOf(service)) });
  // If another client changes an Endpoints object, the controller overwrites the change only after a change of the
  // service or its pods.
  endpoints.onChange(({ type, object }) => {
    const key = keyOf(object);
    const isLeft = type === 'added' && object.metadata.labels?.[MANAGED_BY] === SELF && services.get(key) === undefined;
    if (type === 'deleted' || refused.delete(key) || isLeft) work.add(key);
  });
}

/**
 * Writes an Endpoints object for every Service with a selector. EndpointSlices replace Endpoints, but older clients
 * still read Endpoints.
 * @see kubernetes pkg/controller/endpoint
 */
export const endpointsController: Controller = { name: 'endpoint', setup };
