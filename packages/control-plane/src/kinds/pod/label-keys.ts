import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings } from '../../apimachinery/objects/plain.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

const OPERATORS = { matchLabelKeys: 'In', mismatchLabelKeys: 'NotIn' } as const;

function merge(holder: Plain, own: Readonly<Record<string, string>>, lists: readonly (keyof typeof OPERATORS)[]): void {
  const selector = holder.labelSelector;
  if (!isRecord(selector)) return;
  const added = lists.flatMap((list) =>
    strings(holder, list)
      .filter((key) => Object.hasOwn(own, key))
      .map((key) => ({ key, operator: OPERATORS[list], values: [own[key]] })),
  );
  if (added.length > 0) selector.matchExpressions = [...items(selector, 'matchExpressions'), ...added];
}

/**
 * Adds the labels of `matchLabelKeys` and `mismatchLabelKeys` to the selectors of a new pod. If the labels of the pod
 * change later, the selectors stay unchanged.
 * @see kubernetes pkg/registry/core/pod `mutatePodAffinity`, `mutateTopologySpreadConstraints`
 */
export function mergeLabelKeys(pod: ApiObject): void {
  const spec = look(pod, 'spec');
  const own = pod.metadata.labels ?? {};
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const affinity = look(spec, 'affinity', name);
    const terms = [
      ...items(affinity, PREFERRED).map((term) => look(term, 'podAffinityTerm')),
      ...items(affinity, REQUIRED),
    ];
    for (const term of terms) merge(term, own, ['matchLabelKeys', 'mismatchLabelKeys']);
  }
  for (const constraint of items(spec, 'topologySpreadConstraints')) merge(constraint, own, ['matchLabelKeys']);
}
