import { Annotations, Labels, type Machine, type MachineSet, Taints, TRUE_LOWER } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import type { NodeChange } from '../../node/patch.ts';
import { isTerminating } from '../../objects/machines.ts';

/** The sets whose nodes get or lose the marks of a rollout: a taint, a label and annotations. */
export interface NodeMarks {
  readonly taint: readonly MachineSet[];
  readonly untaint: readonly MachineSet[];
  readonly candidates: readonly MachineSet[];
  readonly protect: readonly MachineSet[];
  /** Lists the sets whose nodes lose the annotations that prevent a scale-down. */
  readonly unprotect: readonly MachineSet[];
}

/** The wanted marks of a node; marks of other types stay unchanged. */
interface Wanted {
  readonly taint?: boolean | undefined;
  readonly protect?: boolean | undefined;
  readonly candidate?: boolean | undefined;
}

export interface NodeMark {
  readonly node: Node;
  readonly change: NodeChange;
}

const OURS = Taints.PreferNoSchedule;
const isOurs = (taint: Taint): boolean => taint.key === OURS.key && taint.effect === OURS.effect;

/** mcm replaces a taint with the right key but a wrong value. */
function taintsFor(node: Node, wanted: boolean): Taint[] | null | undefined {
  const taints = node.spec.taints ?? [];
  const found = taints.find(isOurs);
  if (wanted ? found?.value === OURS.value : found === undefined) return undefined;
  const others = taints.filter((taint) => !isOurs(taint));
  const next = wanted ? [...others, { ...OURS }] : others;
  return next.length > 0 ? next : null;
}

/** If another client added the annotation that protects the node from a scale-down, mcm keeps the annotation. */
function annotationsFor(node: Node, wanted: boolean): Record<string, string | null> | undefined {
  const { [Annotations.ScaleDownDisabled]: disabled, [Annotations.ScaleDownDisabledByMCM]: byUs } =
    node.metadata.annotations ?? {};
  if (wanted) {
    if (disabled === TRUE_LOWER && byUs === TRUE_LOWER) return undefined;
    return { [Annotations.ScaleDownDisabled]: TRUE_LOWER, [Annotations.ScaleDownDisabledByMCM]: TRUE_LOWER };
  }
  if (byUs === undefined) return undefined;
  return { [Annotations.ScaleDownDisabled]: null, [Annotations.ScaleDownDisabledByMCM]: null };
}

/**
 * Returns true if mcm will protect the Node of the machine, and the Node has not joined yet. The machine controller
 * adds the protection annotation with its first write to the Node.
 */
const isJoining = ({ metadata, status }: Machine): boolean =>
  metadata.annotations?.[Annotations.ProtectNewNode] === TRUE_LOWER && status?.currentStatus?.phase === 'Pending';

const isNew = ({ metadata }: Node): boolean =>
  metadata.annotations?.[Annotations.LastAppliedNodeTemplate] === undefined;

function markOf(node: Node, { taint, protect, candidate }: Wanted): NodeMark | undefined {
  const taints = taint === undefined ? undefined : taintsFor(node, taint);
  const annotations = protect === undefined ? undefined : annotationsFor(node, protect);
  const labels =
    candidate && node.metadata.labels?.[Labels.CandidateForUpdate] === undefined
      ? { [Labels.CandidateForUpdate]: TRUE_LOWER }
      : undefined;
  if (taints === undefined && annotations === undefined && labels === undefined) return undefined;
  const metadata = { annotations, labels };
  return {
    node,
    change: {
      metadata: annotations === undefined && labels === undefined ? undefined : metadata,
      spec: taints === undefined ? undefined : { taints },
    },
  };
}

/**
 * Returns one change for each node that does not have the wanted marks. The nodes of terminating machines keep their
 * marks. Preserved machines keep their protection annotation, because the machine controller added the annotation.
 */
export function nodeMarks(
  marks: NodeMarks,
  machinesOf: (set: MachineSet) => readonly Machine[],
  nodeOf: (name: string) => Node | undefined,
  options: { readonly protection: boolean },
): NodeMark[] {
  const wanted = new Map<string, Wanted>();
  const joining = new Set<string>();
  const want = (sets: readonly MachineSet[], change: Wanted, applies: (machine: Machine) => boolean = () => true) => {
    for (const machine of sets.flatMap(machinesOf)) {
      const node = machine.metadata.labels?.[Labels.Node];
      if (!node || isTerminating(machine) || !applies(machine)) continue;
      wanted.set(node, { ...wanted.get(node), ...change });
      if (isJoining(machine)) joining.add(node);
    }
  };
  want(marks.untaint, { taint: false });
  want(marks.taint, { taint: true });
  want(marks.candidates, { candidate: true });
  if (options.protection) {
    want(marks.unprotect, { protect: false }, (machine) => !machine.status?.currentStatus?.preserveExpiryTime);
    want(marks.protect, { protect: true });
  }
  return [...wanted].flatMap(([name, change]) => {
    const node = nodeOf(name);
    const mark = node && markOf(node, joining.has(name) && isNew(node) ? { ...change, protect: undefined } : change);
    return mark ? [mark] : [];
  });
}
