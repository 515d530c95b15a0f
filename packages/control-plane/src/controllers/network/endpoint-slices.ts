import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../client/resources.ts';
import { isDying, labelPatch, namespaceOf, ownerReference } from '../objects/fields.ts';
import { namespaceWords } from '../objects/index-words.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
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
import { orderSlicePorts } from './order.ts';
import { planSlices, type SliceContent } from './slice-plan.ts';
import { TriggerTimes, triggerAnnotation, withoutNulls } from './trigger-times.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SELF = 'endpointslice-controller.k8s.io';
const HEADLESS = 'service.kubernetes.io/headless';

function sliceGroups(
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
      const group = groups.get(id) ?? { ports: orderSlicePorts(ports), endpoints: [] };
      groups.set(id, group);
      group.endpoints.push(endpointOf(service, pod, family, nodeOf(pod)));
    }
    if (groups.size === 0) contents.push({ addressType: family, ports: [], endpoints: [] });
    for (const { ports, endpoints } of groups.values()) {
      const sorted = endpoints.sort((a, b) => (JSON.stringify(a.targetRef) < JSON.stringify(b.targetRef) ? -1 : 1));
      contents.push({ addressType: family, ports, endpoints: sorted });
    }
  }
  return contents;
}

function labelsOf(service: ApiObject): Record<string, string> {
  const labels: Record<string, string> = { ...service.metadata.labels };
  if (look(service, 'spec').clusterIP === 'None') labels[HEADLESS] = '';
  return { ...labels, [SERVICE_NAME]: service.metadata.name ?? '', [MANAGED_BY]: SELF };
}

const isOwn = (slice: ApiObject): boolean => slice.metadata.labels?.[MANAGED_BY] === SELF;

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const services = informer(SERVICES);
  const slices = informer(ENDPOINT_SLICES);
  const pods = informer(PODS);
  const nodes = informer(NODES);
  const tell = recorder('endpoint-slice-controller');
  const podsIn = pods.index(namespaceWords);
  const slicesOf = slices.index((slice) =>
    isOwn(slice) ? [`${namespaceOf(slice)}/${slice.metadata.labels?.[SERVICE_NAME]}`] : [],
  );
  const remove = ({ metadata: { namespace, name } }: ApiObject): Promise<unknown> =>
    allowing(api.delete(ENDPOINT_SLICES, { namespace, name }), 404);

  const create = async (service: ApiObject, object: unknown): Promise<void> => {
    try {
      await allowing(api.create(ENDPOINT_SLICES, object, { namespace: namespaceOf(service) }), 403, 404);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `Error updating Endpoint Slices for Service ${keyOf(service)}: ${why}`;
      tell(service, 'Warning', 'FailedToUpdateEndpointSlices', message);
      throw error;
    }
  };
  const times = new TriggerTimes();

  const work = queue(async (key) => {
    const service = services.get(key);
    if (service === undefined) times.forget(key);
    const known = slicesOf(key).filter((slice) => !isDying(slice));
    // The garbage collector deletes the slices of a deleted Service, because the Service owns its slices.
    if (service === undefined || isDying(service) || !selectsPods(service)) return;
    const { namespace } = splitKey(key);
    const nodeOf = (pod: ApiObject) => nodes.get(text(look(pod, 'spec'), 'nodeName'));
    const all = podsIn(namespace);
    const changed = triggerAnnotation(times.changeOf(key, service, podsSelected(service, all)));
    const labels = labelsOf(service);
    const hasLabels = (slice: ApiObject): boolean => jsonEquals(slice.metadata.labels ?? {}, labels);
    const plan = planSlices(known, sliceGroups(service, all, nodeOf), hasLabels);
    for (const content of plan.create) {
      const metadata = {
        generateName: `${service.metadata.name}-`,
        labels,
        annotations: withoutNulls(changed),
        ownerReferences: [ownerReference({ ...service, apiVersion: 'v1', kind: 'Service' })],
      };
      await create(service, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, ...content });
    }
    for (const { slice, content } of plan.update) {
      const { uid, resourceVersion, name } = slice.metadata;
      const metadata = {
        uid,
        resourceVersion,
        labels: labelPatch(slice.metadata.labels, labels),
        annotations: changed,
      };
      const patch = { metadata, ports: content.ports, endpoints: content.endpoints };
      await allowing(api.patch(ENDPOINT_SLICES, { namespace, name }, patch), 404, 409);
    }
    for (const slice of plan.remove) await remove(slice);
  });

  followPods({ services, pods, add: (service) => work.add(keyOf(service)) });
  slices.onChange(({ object }) => {
    const name = object.metadata.labels?.[SERVICE_NAME];
    if (isOwn(object) && name !== undefined) work.add(`${namespaceOf(object)}/${name}`);
  });
}

/**
 * @see kubernetes pkg/controller/endpointslice
 */
export const endpointSliceController: Controller = { name: 'endpointslice', setup };
