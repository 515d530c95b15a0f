import { Labels, type Machine, type MachineDeployment, MachineDeploymentConditions, Taints } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { refusalOf } from '../machine/machine-wait.ts';

/** Machines or nodes that are told by name of those that all need the same. */
const MOST_NAMES = 3;

/** Where a machine that is in trouble is told more of. */
interface MachineCure {
  readonly see: string;
  readonly name: string;
  readonly code: string;
}

function machineCure(machine: Machine): MachineCure | undefined {
  const { metadata, spec, status } = machine;
  const refusal = refusalOf(machine);
  const { phase, preserveExpiryTime } = status?.currentStatus ?? {};
  const cure = (see: string): MachineCure => ({ see, name: metadata.name, code: refusal ? ` (${refusal})` : '' });
  if (refusal) return cure('see what the cloud said');
  if (metadata.deletionTimestamp) return cure('see what its drain waits for');
  if (phase === 'Failed' && preserveExpiryTime) return cure('see why it is kept, and how to end that');
  if (phase === 'Pending' && spec.providerID) return cure('see how far its birth is');
  if (phase === 'Unknown' || phase === 'InPlaceUpdateFailed') return cure('see what is wrong with it');
  return undefined;
}

/** What a person can do about a deployment and its machines. */
export function curesOf(
  { metadata, spec, status }: MachineDeployment,
  machines: readonly Machine[],
  revisions: number,
): string[] {
  const cures: string[] = [];
  if (spec.paused) cures.push(`the rollout goes on with: mcm rollout resume ${metadata.name}`);
  if (status?.conditions?.some(({ type }) => type === MachineDeploymentConditions.Frozen)) {
    cures.push('it is frozen while a set has too many machines; it thaws by itself once enough of them are gone');
  }
  const told = machines.flatMap((machine) => machineCure(machine) ?? []);
  for (const [why, names] of Map.groupBy(told, ({ see }) => see))
    cures.push(...names.slice(0, MOST_NAMES).map(({ name, code }) => `${why}: mcm explain machine/${name}${code}`));
  const refused = machines.some(({ status }) => status?.lastOperation?.errorCode === 'InvalidArgument');
  const failed = spec.paused && machines.some((machine) => machine.status?.currentStatus?.phase === 'Failed');
  if ((refused || failed) && revisions > 1) cures.push(`or go back: mcm rollout undo ${metadata.name}`);
  return cures;
}

/** What an operator has to do by hand in updates in place. */
export function inPlaceCures(
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
      ? [`select nodes for their update: kubectl label node NAME ${Labels.SelectedForUpdate}=true (${names(waiting)})`]
      : []),
    ...(shut.length > 0
      ? [
          `pods stay away from ${names(shut)} until whoever minds its critical components takes this off: kubectl taint node NAME ${key}-`,
        ]
      : []),
  ];
}
