import { Annotations, Labels, type MachineSet, TRUE_LOWER } from '@mcm/api';
import { withoutUndefined } from '@mcm/kube';
import { isBeingHandedOver, isTerminating } from '../../objects/machines.ts';
import { fallOf } from '../../objects/scaler.ts';
import { sameEntries, semanticEqual } from '../../values/semantic-equal.ts';
import { scaleAnnotations } from '../state/new-set.ts';
import type { Step } from '../state/step.ts';
import type { View } from '../state/view.ts';

/**
 * Returns at most one write per set, with all changes of the set. mcm first writes the sets that shrink, so that a
 * crash between two writes leaves no surplus machine. mcm writes a set that loses its last machines only after all sets
 * have recorded the new replicas of the deployment.
 */
export function setWrites(view: View, step: Step, stored: readonly MachineSet[]): MachineSet[] {
  const byName = new Map(stored.map((set) => [set.metadata.name, set]));
  const all = view.split.current ? [...view.split.old, view.split.current] : view.split.old;
  const grows = (set: MachineSet) => {
    const size = set.spec.replicas ?? 0;
    const next = step.resize?.get(set.metadata.name) ?? size;
    return next < size && next === 0 ? 0.5 : Math.sign(next - size);
  };
  return all
    .toSorted((a, b) => grows(a) - grows(b))
    .flatMap((set) => {
      const { name } = set.metadata;
      const wanted = folded(view, step, set);
      const before = byName.get(name);
      const same =
        sameEntries(wanted.metadata.annotations, before?.metadata.annotations) &&
        sameEntries(wanted.metadata.labels, before?.metadata.labels) &&
        semanticEqual(wanted.spec, before?.spec);
      return same ? [] : [wanted];
    });
}

/**
 * While machines move to another set, an old set has a label that forbids replacements. The original never removes the
 * label against replacements, so a set that becomes current again cannot grow (BUG-7).
 */
function refillLabels(view: View, set: MachineSet, size: number): Record<string, string> | undefined {
  const { deployment, split } = view;
  const { [Labels.ScaleUpDisabled]: label, ...labels } = set.metadata.labels ?? {};
  const inPlace = deployment.spec.strategy?.type === 'InPlaceUpdate';
  if (inPlace && (fills(view, set, size) || rests(view))) return labels;
  const off = inPlace && !deployment.spec.paused && set !== split.current && (set.spec.replicas ?? 0) > 0;
  if (off) return { ...labels, [Labels.ScaleUpDisabled]: label ?? TRUE_LOWER };
  const stays = label !== undefined && inPlace && set !== split.current;
  return label === undefined || stays ? set.metadata.labels : labels;
}

/**
 * Returns true during a pause in which no machine moves between sets. In such a pause, an old set may replace a failed
 * machine.
 */
const rests = ({ deployment, machines }: View): boolean =>
  deployment.spec.paused === true && ![...machines.values()].some((own) => own.some(isBeingHandedOver));

/** Returns true while an old set creates machines in place of the current set. */
function fills({ gate, split, machines, creating }: View, set: MachineSet, size: number): boolean {
  if (gate === undefined || set === split.current) return false;
  const alive = (machines.get(set.metadata.uid) ?? []).filter((machine) => !isTerminating(machine)).length;
  const begins = size > (set.spec.replicas ?? 0) || set.metadata.labels?.[Labels.ScaleUpDisabled] === undefined;
  return begins && alive + creating(set.metadata.uid) < size;
}

function folded(view: View, step: Step, set: MachineSet): MachineSet {
  const { deployment, limits } = view;
  const { name } = set.metadata;
  const size = step.resize?.get(name);
  const labels = refillLabels(view, set, size ?? set.spec.replicas ?? 0);
  const scaled = (size !== undefined && size !== (set.spec.replicas ?? 0)) || step.annotate?.includes(name) === true;
  // One write changes the scaler time and the replicas, so that the set deletes exactly the named machines.
  const falls = scaled && set === view.split.current && fallOf(set, deployment) > 0;
  const time =
    falls && view.scalerTime !== undefined ? { [Annotations.LastReplicaChangeByScaler]: view.scalerTime } : {};
  const mark = step.mark?.get(name);
  const { [Annotations.PreferNoSchedule]: taint, ...annotations } = set.metadata.annotations ?? {};
  const marked = mark === undefined ? taint : (mark ?? undefined);
  return {
    ...set,
    metadata: {
      ...set.metadata,
      ...withoutUndefined({ labels }),
      annotations: {
        ...annotations,
        ...withoutUndefined({ [Annotations.PreferNoSchedule]: marked }),
        ...time,
        ...(scaled ? scaleAnnotations(deployment.spec.replicas ?? 0, limits) : {}),
      },
    },
    spec: size === undefined ? set.spec : { ...set.spec, replicas: size },
  };
}
