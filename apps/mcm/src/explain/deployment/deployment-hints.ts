import { counted, Labels, type Machine, type MachineDeployment, MachineDeploymentConditions, Taints } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { refusalOf } from '../machine/machine-wait.ts';

const MOST_NAMES = 3;

interface MachineCure {
  readonly see: string;
  readonly name: string;
  readonly code: string | undefined;
}

function machineCure(machine: Machine): MachineCure | undefined {
  const { metadata, spec, status } = machine;
  const refusal = refusalOf(machine);
  const { phase, preserveExpiryTime } = status?.currentStatus ?? {};
  const hint = (see: string): MachineCure => ({ see, name: metadata.name, code: refusal });
  if (refusal) return hint('show the error and its fix');
  if (metadata.deletionTimestamp) return hint('show the blockers of the drain');
  if (phase === 'Failed' && preserveExpiryTime)
    return hint('show why mcm preserves the machine, and the command that ends the preservation');
  if (phase === 'Pending' && spec.providerID) return hint('show its progress');
  if (phase === 'Unknown' || phase === 'InPlaceUpdateFailed') return hint('show its problem');
  return undefined;
}

/** Machines with the same error code usually need the same fix, so the hint names only the first machine. */
function curesOf(group: readonly MachineCure[]): readonly string[] {
  const [first, ...others] = group;
  if (first?.code === undefined)
    return group.slice(0, MOST_NAMES).map(({ see, name }) => `${see}: mcm explain machine/${name}`);
  const more = others.length > 0 ? `, and ${counted(others.length, 'other machine')}` : '';
  return [`${first.see}: mcm explain machine/${first.name} (${first.code}${more})`];
}

export function hintsOf(
  { metadata, spec, status }: MachineDeployment,
  machines: readonly Machine[],
  revisions: number,
): string[] {
  const hints: string[] = [];
  if (spec.paused) hints.push(`to continue the rollout: mcm rollout resume ${metadata.name}`);
  if (status?.conditions?.some(({ type }) => type === MachineDeploymentConditions.Frozen)) {
    hints.push(
      'a MachineSet is frozen, because it has too many machines; the freeze ends when mcm has deleted the surplus machines',
    );
  }
  const reported = machines.flatMap((machine) => machineCure(machine) ?? []);
  for (const group of Map.groupBy(reported, ({ see, code }) => `${see} ${code}`).values())
    hints.push(...curesOf(group));
  const refused = machines.some(({ status }) => status?.lastOperation?.errorCode === 'InvalidArgument');
  const failed = spec.paused && machines.some((machine) => machine.status?.currentStatus?.phase === 'Failed');
  if ((refused || failed) && revisions > 1)
    hints.push(`to restore the previous revision: mcm rollout undo ${metadata.name}`);
  return hints;
}

/** Returns a hint with the command that ends the soak time of canaries, or the pause between two batches. */
export const promoteHint = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  `to skip the rest of the wait, check the new machines, and then run: mcm rollout promote ${metadata.name}`;

/** Returns hints about in-place updates that need an action of the operator. */
export function inPlaceHints(
  { spec }: MachineDeployment,
  machines: readonly Machine[],
  nodeOf: (name: string) => Node | undefined,
): string[] {
  if (spec.strategy?.type !== 'InPlaceUpdate') return [];
  const own = machines.flatMap(({ metadata }) => nodeOf(metadata.labels?.[Labels.Node] ?? '') ?? []);
  const has = ({ metadata }: Node, label: string) => metadata.labels?.[label] !== undefined;
  const names = (found: readonly Node[]) => {
    const more = found.length > MOST_NAMES ? ` and ${found.length - MOST_NAMES} more` : '';
    const first = found.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name);
    return `${first.join(', ')}${more}`;
  };
  const waiting = own.filter((node) => has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate));
  const { key } = Taints.CriticalComponentsNotReady;
  const shut = own.filter((node) => node.spec.taints?.some((taint) => taint.key === key));
  return [
    ...(spec.strategy.inPlaceUpdate?.orchestrationType === 'Manual' && waiting.length > 0
      ? [`select nodes for the update: kubectl label node NAME ${Labels.SelectedForUpdate}=true (${names(waiting)})`]
      : []),
    ...(shut.length > 0
      ? [
          `${names(shut)} runs no pods until its critical components are ready; to remove the taint: kubectl taint node NAME ${key}-`,
        ]
      : []),
  ];
}
