import type { LabelSelector } from '@mcm/api';
import type { Node, Store } from '@mcm/kube';
import { NODE_LABEL_INDEX } from '../../controllers/caches.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { isSelecting } from '../../kinds/selectors.ts';

/** Converts a selector to sets of index keys. */
function termSets({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly (readonly string[])[] {
  const labels = Object.entries(matchLabels).map(([key, value]) => [`${key}=${value}`]);
  const expressed = matchExpressions.flatMap(({ key, operator, values = [] }) => {
    if (operator === 'In') return [values.map((value) => `${key}=${value}`)];
    return operator === 'Exists' ? [[key]] : [];
  });
  return [...labels, ...expressed];
}

/** Returns the nodes that a pool may select, at a cost that does not depend on the number of all nodes. */
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
