import type { ApiObject } from '../../object.ts';
import type { Registry } from '../../registry/registry.ts';

/** One object of a kind, as stored. */
export function lookup(
  registry: Registry,
  apiVersion: string,
  kind: string,
  namespace: string,
  name: string,
): ApiObject | undefined {
  const served = registry.kinds.byKind(apiVersion, kind);
  if (served === undefined) return undefined;
  const record = registry.store.get(served.resource, namespace, name);
  return record === undefined ? undefined : registry.parse(served, record);
}

/** All objects of a cluster-scoped kind. */
export function lookupAll(registry: Registry, apiVersion: string, kind: string): ApiObject[] {
  const served = registry.kinds.byKind(apiVersion, kind);
  if (served === undefined) return [];
  return registry.store.list(served.resource).records.map((record) => registry.parse(served, record));
}
