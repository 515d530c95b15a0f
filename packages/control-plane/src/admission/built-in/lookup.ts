import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Registry } from '../../resources/registry.ts';
import type { Words } from '../../store/word-index.ts';

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

const MARKED = 'marked';

/** Returns an index of the objects for which `isMarked` is true. */
export const markedBy = (isMarked: (object: ApiObject) => boolean): Words => ({
  of: ({ json }) => (isMarked(JSON.parse(json) as ApiObject) ? [[MARKED]] : []),
});

/** Returns the objects of a cluster-scoped kind for which `isMarked` is true, sorted by name. */
export function lookupMarked(registry: Registry, apiVersion: string, kind: string, marked: Words): ApiObject[] {
  const served = registry.kinds.byKind(apiVersion, kind);
  if (served === undefined) return [];
  return registry.store
    .find(served.resource, marked, [MARKED])
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((record) => registry.parse(served, record));
}
