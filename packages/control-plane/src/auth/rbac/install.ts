import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import type { Registry } from '../../resources/registry.ts';
import { bootstrapPolicy } from './policy.ts';

/** Stores the initial roles and bindings without requests, because direct writes are faster and the roles are valid. */
export function installPolicy(registry: Registry): void {
  const creationTimestamp = formatTime(registry.now());
  for (const object of bootstrapPolicy()) {
    const served = registry.kinds.byKind(object.apiVersion, object.kind);
    if (served === undefined) continue;
    const { name = '', namespace = '' } = object.metadata;
    if (registry.store.get(served.resource, namespace, name) !== undefined) continue;
    const metadata: ApiObject['metadata'] = { ...object.metadata, uid: registry.uid(), creationTimestamp };
    registry.put(served, { ...object, metadata });
  }
}
