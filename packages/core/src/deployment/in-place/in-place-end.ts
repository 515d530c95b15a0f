import { Annotations, InPlaceUpdateReasons, Labels, type Machine, phaseOf, UpdateResults } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isBeingHandedOver, isTerminating, updateReasonOf } from '../../objects/machines.ts';
import { type InPlaceWork, NO_WORK } from '../state/in-place-snapshot.ts';
import type { NodeMark } from '../state/node-marks.ts';
import type { View } from '../state/view.ts';
import { cleaned } from './in-place.ts';
import { DECIDED_BY_DRAIN, hasBegun, schedulable } from './in-place-template.ts';
import { withPolicy } from './kept-machines.ts';

const Reasons = InPlaceUpdateReasons;

/**
 * Ends the in-place updates of a deployment after a user changed its strategy.
 * - A machine that moved to another set loses its update marks, because a MachineSet never deletes a machine with
 *   update marks.
 * - mcm uncordons a node after its update, because the machine of a cordoned node would stay unavailable.
 * - mcm cancels an in-place update that has not started. An update in progress continues.
 */
export function endOfUpdates({
  deployment,
  machines,
  nodeOf,
}: Pick<View, 'deployment' | 'machines' | 'nodeOf'>): InPlaceWork {
  if (deployment.spec.strategy?.type === 'InPlaceUpdate' || deployment.spec.paused) return NO_WORK;
  const all = [...machines.values()].flat().filter((machine) => !isTerminating(machine));
  return {
    machines: all.filter(isBeingHandedOver).map((machine) => ({
      machine,
      body: { metadata: { uid: machine.metadata.uid, labels: { [Labels.UpdateResult]: null } } },
    })),
    nodes: withPolicy(
      all.flatMap((machine) => {
        const node = nodeOf?.(machine.metadata.labels?.[Labels.Node] ?? '');
        const change = node && endOf(machine, node);
        return change ? [{ node, change }] : [];
      }),
      false,
      all,
      nodeOf,
    ),
  };
}

function endOf(machine: Machine, node: Node): NodeMark['change'] | undefined {
  const { labels = {}, annotations = {} } = node.metadata;
  const { [Labels.CandidateForUpdate]: candidate, [Labels.SelectedForUpdate]: selected } = labels;
  if (candidate === undefined && selected === undefined) return undefined;
  const reason = updateReasonOf(machine);
  const phase = phaseOf(machine);
  const result = labels[Labels.UpdateResult];
  if (result !== undefined) {
    const isOver = result === UpdateResults.Successful && reason === Reasons.UpdateSuccessful;
    return isOver && phase !== 'InPlaceUpdating' ? cleaned(node) : undefined;
  }
  if (hasBegun(machine, node)) return undefined;
  const emptied = selected !== undefined || annotations[Annotations.SelectedForTemplate] !== undefined;
  return {
    metadata: {
      labels: { [Labels.CandidateForUpdate]: null, [Labels.SelectedForUpdate]: null },
      annotations: { [Annotations.SelectedForTemplate]: null },
    },
    spec: emptied ? schedulable(node) : undefined,
    decidedBy: emptied ? DECIDED_BY_DRAIN : undefined,
    onlyIfUnchanged: true,
  };
}
