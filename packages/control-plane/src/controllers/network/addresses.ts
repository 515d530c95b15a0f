import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, strings } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { IP_ADDRESSES, pathOf, SERVICES } from '../client/resources.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

export const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
export const ALLOCATOR = 'ipallocator.k8s.io';

const addressesOf = (service: ApiObject): string[] =>
  strings(look(service, 'spec'), 'clusterIPs').filter((address) => address !== '' && address !== 'None');

/** Returns the IPAddress for a service, with the service as its parent reference. */
const addressObject = (address: string, service: ApiObject): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IPAddress',
  metadata: {
    name: address,
    labels: {
      'ipaddress.kubernetes.io/ip-family': address.includes(':') ? 'IPv6' : 'IPv4',
      [MANAGED_BY]: ALLOCATOR,
    },
  },
  spec: { parentRef: { resource: 'services', namespace: namespaceOf(service), name: service.metadata.name } },
});

function isOf(object: ApiObject, service: ApiObject): boolean {
  const { resource, namespace, name } = look(object, 'spec', 'parentRef');
  return resource === 'services' && namespace === namespaceOf(service) && name === service.metadata.name;
}

function setup({ api, informer, queue }: ControllerContext): void {
  const services = informer(SERVICES);
  const objects = informer(IP_ADDRESSES);
  const servicesWith = services.index(addressesOf);

  const work = queue(async (address) => {
    const [service] = servicesWith(address);
    const object = objects.get(address);
    if (object === undefined) {
      if (service === undefined) return;
      const path = `${pathOf(IP_ADDRESSES)}?fieldManager=kube-apiserver`;
      await allowing(api.call(path, 'POST', addressObject(address, service)), 409);
      return;
    }
    if (isDying(object) || object.metadata.labels?.[MANAGED_BY] !== ALLOCATOR) return;
    if (service !== undefined && isOf(object, service)) return;
    const { uid = '' } = object.metadata;
    await allowing(api.delete(IP_ADDRESSES, { name: address }, { preconditions: { uid } }), 404, 409);
  });

  services.onChange(({ object, old }) => {
    for (const address of new Set([...addressesOf(object), ...(old === undefined ? [] : addressesOf(old))])) {
      work.add(address);
    }
  });
  objects.onChange(({ object }) => work.add(object.metadata.name ?? ''));
}

/**
 * Keeps an IPAddress for each address of a service, and restores deleted IPAddresses, as kube-apiserver does.
 * @see kubernetes pkg/registry/core/service/ipallocator
 */
export const serviceAddressObjects: Controller = { name: 'service-addresses', setup };
