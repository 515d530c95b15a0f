import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import type { Registry } from '../../resources/registry.ts';
import { bootstrapPolicy } from './policy.ts';

/**
 * Creates the missing roles and bindings that every cluster has. The function writes directly to the store. The roles
 * are valid, and requests for so many roles would need more time.
 */
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
