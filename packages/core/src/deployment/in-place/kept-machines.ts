import { Annotations, Labels, type Machine, type MachinePhase, phaseOf } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isTerminating } from '../../objects/machines.ts';
import { STOP } from '../../settings/failed-updates.ts';
import type { NodeMark } from '../state/node-marks.ts';
import type { View } from '../state/view.ts';

const KEY = Annotations.RolloutOnCannotUpdateInPlace;

export const stopsRollout = (machines: readonly Machine[]): boolean =>
  machines.some((machine) => phaseOf(machine) === 'InPlaceUpdateFailed' && !isTerminating(machine));

type Maps = Readonly<Record<string, string | null>> | undefined;

const valueAfter = (seen: Maps, change: Maps, key: string): string | undefined =>
  (change?.[key] === undefined ? seen?.[key] : change[key]) ?? undefined;

/**
 * Returns true if the Node is selected after the change. A Node stays selected after its update to an older template
 * has ended.
 */
const isSelectedAfter = ({ metadata }: Node, change: NodeMark['change'] | undefined): boolean =>
  valueAfter(metadata.labels, change?.metadata?.labels, Labels.SelectedForUpdate) !== undefined ||
  valueAfter(metadata.annotations, change?.metadata?.annotations, Annotations.SelectedForTemplate) !== undefined;

const UPDATES: readonly (MachinePhase | undefined)[] = ['InPlaceUpdating', 'InPlaceUpdateFailed'];

/**
 * The machine controller reads no MachineDeployment, so each selected node has a copy of the policy for failed updates.
 * The agent can start an update just before the manager removes the selection, so the node keeps its policy.
 */
export function withPolicy(
  marks: readonly NodeMark[],
  keeps: boolean,
  machines: readonly Machine[],
  nodeOf: View['nodeOf'],
): readonly NodeMark[] {
  const planned = new Map(marks.map((mark) => [mark.node.metadata.uid, mark]));
  const wrong = machines.flatMap((machine) => {
    const node = nodeOf?.(machine.metadata.labels?.[Labels.Node] ?? '');
    if (node === undefined) return [];
    const isUpdated =
      UPDATES.includes(phaseOf(machine)) || isSelectedAfter(node, planned.get(node.metadata.uid)?.change);
    return node.metadata.annotations?.[KEY] === (keeps && isUpdated ? STOP : undefined) ? [] : [node];
  });
  if (wrong.length === 0) return marks;
  const policyOf = ({ metadata }: Node) => ({ [KEY]: metadata.annotations?.[KEY] === undefined ? STOP : null });
  const fixed = new Set(wrong.map(({ metadata }) => metadata.uid));
  return [
    ...marks.map((mark) => (fixed.has(mark.node.metadata.uid) ? joined(mark, policyOf(mark.node)) : mark)),
    ...wrong
      .filter(({ metadata }) => !planned.has(metadata.uid))
      .map((node) => ({ node, change: { metadata: { annotations: policyOf(node) } } })),
  ];
}

const joined = ({ node, change }: NodeMark, annotations: Readonly<Record<string, string | null>>): NodeMark => ({
  node,
  change: {
    ...change,
    metadata: { ...change.metadata, annotations: { ...change.metadata?.annotations, ...annotations } },
  },
});
