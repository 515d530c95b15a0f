import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { isDying, isReady, isTerminal, namespaceOf, nodeNameOf } from '../objects/fields.ts';
import type { Informer } from '../runtime/informer.ts';
import { addressesOf, selectsPods } from './backends.ts';

const facts = (pod: ApiObject): unknown => [
  pod.metadata.labels,
  addressesOf(pod),
  isReady(pod),
  isDying(pod),
  isTerminal(pod),
  nodeNameOf(pod),
];

/** Calls `add` for every service that changed, and for the services of every changed pod. */
export function followPods(parts: {
  readonly services: Informer;
  readonly pods: Informer;
  readonly add: (service: ApiObject) => void;
}): void {
  const { services, pods, add } = parts;
  const servicesIn = services.index((service) => (selectsPods(service) ? [namespaceOf(service)] : []));
  services.onChange(({ object }) => add(object));
  pods.onChange(({ type, object, old }) => {
    const before = old ?? object;
    if (addressesOf(object).length + addressesOf(before).length === 0) return;
    if (type === 'updated' && old !== undefined && jsonEquals(facts(object), facts(old))) return;
    for (const service of servicesIn(namespaceOf(object))) {
      const wanted = Object.entries(look(service, 'spec', 'selector'));
      const matches = [object, before].some((pod) =>
        wanted.every(([label, value]) => pod.metadata.labels?.[label] === value),
      );
      if (matches) add(service);
    }
  });
}
