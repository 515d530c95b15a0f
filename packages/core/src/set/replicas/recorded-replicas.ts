import type { Machine } from '@mcm/api';
import { recalling, remembering } from '../../journal/answers.ts';
import { type Journal, type OpenEntry, subjectOf } from '../../journal/journal.ts';
import { planReplicas, type ReplicaPlan, type SetSnapshot } from './replicas.ts';

export interface SetInput extends Omit<SetSnapshot, 'nodeAnnotations' | 'isPostponed' | 'now'> {
  readonly nodes: ReadonlyMap<string, Readonly<Record<string, string>> | 'unseen' | undefined>;
  readonly postponed?: ReadonlyMap<string, boolean> | undefined;
}

function recordedSet(seen: SetSnapshot): { readonly seen: SetSnapshot; readonly input: SetInput } {
  const { nodeAnnotations, isPostponed, now: _now, ...rest } = seen;
  const nodes = new Map<string, ReturnType<typeof nodeAnnotations>>();
  const postponed = new Map<string, boolean>();
  const asked = isPostponed && {
    isPostponed: (machine: Machine) => remembering(postponed, () => isPostponed(machine))(machine.metadata.uid),
  };
  return {
    seen: { ...seen, nodeAnnotations: remembering(nodes, nodeAnnotations), ...asked },
    input: { ...rest, nodes, postponed: isPostponed && postponed },
  };
}

export function setSnapshot({ nodes, postponed, ...rest }: SetInput, now: Date): SetSnapshot {
  const recalled = postponed && recalling(postponed, 'postponement of machine');
  return {
    ...rest,
    nodeAnnotations: recalling(nodes, 'annotations of Node'),
    isPostponed: recalled && (({ metadata }) => recalled(metadata.uid)),
    now,
  };
}

export function decideReplicas(
  journal: Journal | undefined,
  snapshot: SetSnapshot,
): { readonly plan: ReplicaPlan; readonly entry?: OpenEntry | undefined } {
  if (journal === undefined) return { plan: planReplicas(snapshot) };
  const { seen, input } = recordedSet(snapshot);
  const plan = planReplicas(seen);
  const { create, toDelete, because } = plan;
  const entry = journal.record({
    kind: 'machineset',
    subject: subjectOf('MachineSet', snapshot.set),
    at: snapshot.now,
    input,
    decision: plan,
    because,
    actions: [
      ...(create > 0 ? [`create ${create}`] : []),
      ...(toDelete.length > 0 ? [`delete ${toDelete.map(({ metadata }) => metadata.name).join(', ')}`] : []),
    ],
  });
  return { plan, entry };
}
