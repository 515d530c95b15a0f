import { Annotations, type MachineSet, TRUE } from '@mcm/api';
import { NO_MARKS, type Step } from '../state/step.ts';
import { hasMachines, type View } from '../state/view.ts';

/**
 * Protects nodes from the autoscaler while machines of two templates exist (docs/compatibility/rules-deployments.md
 * §3.6).
 */
export function withProtection(view: View, step: Step): Step {
  const { counted, complete } = view;
  const all = [...counted.old, ...(counted.current ? [counted.current] : [])].map(({ set }) => set);
  const nodes = step.nodes ?? NO_MARKS;
  if (counted.old.some(hasMachines)) return { ...step, nodes: { ...nodes, protect: all } };
  return complete ? { ...step, nodes: { ...nodes, unprotect: all } } : step;
}

/**
 * Old nodes get the taint PreferNoSchedule, so that the scheduler prefers new nodes for new pods
 * (docs/compatibility/rules-deployments.md §3.5 and 3.7).
 */
export function withTaints(view: View, step: Step): Step {
  const { counted, complete } = view;
  const marked = (set: MachineSet) => set.metadata.annotations?.[Annotations.PreferNoSchedule] !== undefined;
  const taint = counted.old.filter(hasMachines).map(({ set }) => set);
  const current = counted.current?.set;
  const untaint = complete && current && marked(current) ? [current] : [];
  const mark = new Map<string, string | null>(untaint.map((set) => [set.metadata.name, null]));
  for (const set of taint) if (!marked(set)) mark.set(set.metadata.name, TRUE);
  return { ...step, mark, nodes: { ...(step.nodes ?? NO_MARKS), taint, untaint } };
}
