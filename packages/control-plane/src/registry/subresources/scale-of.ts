import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { copyJson } from '../../apimachinery/objects/object-text.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import type { ReplicasPath } from '../../patch/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';

/** Splits a path: `.spec.replicas` → `['spec', 'replicas']`. */
export const steps = (path: string): string[] => path.split('.').filter((step) => step !== '');

export function read(object: ApiObject, path: string): unknown {
  let value: unknown = object;
  for (const step of steps(path)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** API versions that Kubernetes no longer serves. */
const LEGACY: Readonly<Record<string, readonly string[]>> = {
  'apps/Deployment': ['apps/v1beta1', 'apps/v1beta2', 'extensions/v1beta1'],
  'apps/ReplicaSet': ['apps/v1beta2', 'extensions/v1beta1'],
  'apps/StatefulSet': ['apps/v1beta1', 'apps/v1beta2'],
};

export function replicasPathOf({ kinds }: Pick<Registry, 'kinds'>, { kind }: ServedKind): ReplicasPath {
  const legacy = LEGACY[`${kind.group}/${kind.kind}`] ?? [];
  return (apiVersion) => {
    if (legacy.includes(apiVersion)) return ['spec', 'replicas'];
    const other = kinds.byKind(apiVersion, kind.kind)?.kind;
    if (other?.group !== kind.group || other.plural !== kind.plural) return undefined;
    const path = other.subresources?.scale?.specReplicasPath;
    return path === undefined ? null : steps(path);
  };
}

function selectorText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  const { matchLabels, matchExpressions } = value as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  const plain = matchLabels === undefined && matchExpressions === undefined ? (value as Record<string, string>) : {};
  const terms = Object.entries(matchLabels ?? plain).map(([key, item]) => ({ key, term: `${key}=${item}` }));
  for (const { key, operator, values = [] } of matchExpressions ?? []) {
    if (operator === 'Exists') terms.push({ key, term: key });
    else if (operator === 'DoesNotExist') terms.push({ key, term: `!${key}` });
    else terms.push({ key, term: `${key} ${operator === 'In' ? 'in' : 'notin'} (${[...values].sort().join(',')})` });
  }
  // As in Go, the function sorts requirements only by their keys.
  terms.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return terms.map(({ term }) => term).join(',');
}

/** Go omits a zero, so the spec for zero replicas contains no replicas. */
export function scaleOf({ kind }: ServedKind, object: ApiObject): JsonObject {
  const paths = kind.subresources?.scale;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = Number(read(object, paths?.specReplicasPath ?? '') ?? 0);
  const selector = paths?.labelSelectorPath === undefined ? '' : selectorText(read(object, paths.labelSelectorPath));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: copyJson({ name, namespace, uid, resourceVersion, creationTimestamp }) as JsonObject,
    spec: replicas === 0 ? {} : { replicas },
    status: defined({
      replicas: Number(read(object, paths?.statusReplicasPath ?? '') ?? 0),
      selector: selector || undefined,
    }),
  };
}
