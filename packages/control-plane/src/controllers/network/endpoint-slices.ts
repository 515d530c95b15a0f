import { items, look, type Plain, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { isDying, namespaceOf, ownerReference } from '../runtime/objects.ts';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../runtime/resources.ts';
import {
  addressesOf,
  endpointOf,
  familiesOf,
  isOfFamily,
  podsBehind,
  podsSelected,
  portsOn,
  selectsPods,
} from './backends.ts';
import { followPods } from './follow.ts';
import { TriggerTimes, triggerAnnotation, withoutNulls } from './trigger-times.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SELF = 'endpointslice-controller.k8s.io';
const HEADLESS = 'service.kubernetes.io/headless';
const MOST = 100;

/** What a slice should hold. */
export interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly Plain[];
  readonly endpoints: readonly Plain[];
}

/** The slices of a service: pods that have its ports at the same numbers together, a hundred at most. */
export function sliceContents(
  service: ApiObject,
  pods: readonly ApiObject[],
  nodeOf: (pod: ApiObject) => ApiObject | undefined,
): SliceContent[] {
  const contents: SliceContent[] = [];
  for (const family of familiesOf(service)) {
    const groups = new Map<string, { ports: Plain[]; endpoints: Plain[] }>();
    for (const pod of podsBehind(service, pods)) {
      if (!addressesOf(pod).some((address) => isOfFamily(address, family))) continue;
      const ports = portsOn(service, pod);
      const id = JSON.stringify(ports);
      const group = groups.get(id) ?? { ports, endpoints: [] };
      groups.set(id, group);
      group.endpoints.push(endpointOf(service, pod, family, nodeOf(pod)));
    }
    // A service without endpoints has a slice that says so.
    if (groups.size === 0) contents.push({ addressType: family, ports: [], endpoints: [] });
    for (const { ports, endpoints } of groups.values()) {
      const sorted = endpoints.sort((a, b) => (JSON.stringify(a.targetRef) < JSON.stringify(b.targetRef) ? -1 : 1));
      for (let at = 0; at < sorted.length; at += MOST) {
        contents.push({ addressType: family, ports, endpoints: sorted.slice(at, at + MOST) });
      }
    }
  }
  return contents;
}

/** Labels of a slice: the service's own, and whose it is. */
function labelsOf(service: ApiObject): Record<string, string> {
  const isHeadless = look(service, 'spec').clusterIP === 'None';
  return {
    ...service.metadata.labels,
    ...(isHeadless ? { [HEADLESS]: '' } : {}),
    [SERVICE_NAME]: service.metadata.name ?? '',
    [MANAGED_BY]: SELF,
  };
}

const isOwn = (slice: ApiObject): boolean => slice.metadata.labels?.[MANAGED_BY] === SELF;

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const services = informer(SERVICES);
  const slices = informer(ENDPOINT_SLICES);
  const pods = informer(PODS);
  const nodes = informer(NODES);
  const tell = recorder('endpoint-slice-controller');
  const podsIn = pods.index((pod) => [namespaceOf(pod)]);
  const slicesOf = slices.index((slice) =>
    isOwn(slice) ? [`${namespaceOf(slice)}/${slice.metadata.labels?.[SERVICE_NAME]}`] : [],
  );
  const remove = ({ metadata: { namespace, name } }: ApiObject): Promise<unknown> =>
    allowing(api.delete(ENDPOINT_SLICES, { namespace, name }), 404);

  const times = new TriggerTimes();

  const work = queue(async (key) => {
    const service = services.get(key);
    if (service === undefined) times.forget(key);
    const known = slicesOf(key).filter((slice) => !isDying(slice));
    if (service === undefined || isDying(service) || !selectsPods(service)) {
      // Its slices have it as their owner; those of a service that selects no more go here.
      if (service !== undefined && !selectsPods(service)) for (const slice of known) await remove(slice);
      return;
    }
    const { namespace } = splitKey(key);
    const nodeOf = (pod: ApiObject) => nodes.get(text(look(pod, 'spec'), 'nodeName'));
    const all = podsIn(namespace);
    const changed = triggerAnnotation(times.changeOf(key, service, podsSelected(service, all)));
    const wanted = sliceContents(service, all, nodeOf);
    const labels = labelsOf(service);
    const free = [...known];
    const claim = (content: SliceContent): ApiObject | undefined => {
      const alike = (slice: ApiObject): boolean => slice.addressType === content.addressType;
      const same = free.findIndex((slice) => alike(slice) && jsonEquals(items(slice, 'endpoints'), content.endpoints));
      const at = same !== -1 ? same : free.findIndex(alike);
      return at === -1 ? undefined : free.splice(at, 1)[0];
    };
    for (const content of wanted) {
      const slice = claim(content);
      if (slice === undefined) {
        const object = {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            generateName: `${service.metadata.name}-`,
            labels,
            annotations: withoutNulls(changed),
            ownerReferences: [ownerReference({ ...service, apiVersion: 'v1', kind: 'Service' })],
          },
          ...content,
        };
        try {
          await allowing(api.create(ENDPOINT_SLICES, object, { namespace }), 403, 404);
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          tell(
            service,
            'Warning',
            'FailedToUpdateEndpointSlices',
            `Error updating Endpoint Slices for Service ${key}: ${why}`,
          );
          throw error;
        }
        continue;
      }
      const same =
        jsonEquals(items(slice, 'endpoints'), content.endpoints) &&
        jsonEquals(items(slice, 'ports'), content.ports) &&
        jsonEquals(slice.metadata.labels ?? {}, labels);
      if (same) continue;
      const { uid, resourceVersion, name } = slice.metadata;
      const metadata = { uid, resourceVersion, labels, annotations: changed };
      const patch = { metadata, ports: content.ports, endpoints: content.endpoints };
      await allowing(api.patch(ENDPOINT_SLICES, { namespace, name }, patch), 404, 409);
    }
    for (const slice of free) await remove(slice);
  });

  followPods({ services, pods, add: (service) => work.add(keyOf(service)) });
  slices.onChange(({ object }) => {
    const name = object.metadata.labels?.[SERVICE_NAME];
    if (isOwn(object) && name !== undefined) work.add(`${namespaceOf(object)}/${name}`);
  });
}

/**
 * Writes down where the pods of every service are.
 * @see kubernetes pkg/controller/endpointslice
 */
export const endpointSliceController: Controller = { name: 'endpointslice', setup };
