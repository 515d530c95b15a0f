import type { LabelSelector } from '@mcm/api';
import type { Node, Store } from '@mcm/kube';
import { NODE_LABEL_INDEX } from '../../controllers/caches.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { isSelecting } from '../../kinds/selectors.ts';

/** Sets of index terms, of which every node that a selector selects has one. */
function termSets({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly (readonly string[])[] {
  const labels = Object.entries(matchLabels).map(([key, value]) => [`${key}=${value}`]);
  const expressed = matchExpressions.flatMap(({ key, operator, values = [] }) => {
    if (operator === 'In') return [values.map((value) => `${key}=${value}`)];
    return operator === 'Exists' ? [[key]] : [];
  });
  return [...labels, ...expressed];
}

/**
 * Nodes among which are all that a pool selects: as few as the index of labels tells apart, so that a look at a small
 * pool does not grow with the fleet. A selector that only excludes has all of them.
 */
export function nodesNear({ spec }: MachineConfigPool, store: Store<Node>): readonly Node[] {
  const selector = spec?.nodeSelector;
  if (!isSelecting(selector)) return [];
  const sized = termSets(selector).map((terms) => ({
    terms,
    size: terms.reduce((sum, term) => sum + store.countByIndex(NODE_LABEL_INDEX, term), 0),
  }));
  const [first, ...others] = sized;
  if (!first) return store.list();
  const { terms } = others.reduce((a, b) => (b.size < a.size ? b : a), first);
  return terms.flatMap((term) => store.byIndex(NODE_LABEL_INDEX, term));
}
