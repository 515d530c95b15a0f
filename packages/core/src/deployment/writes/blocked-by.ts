import { isFrozen, type Machine, type MachineDeployment, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import type { Blocking } from '../../blocked/blocks.ts';
import { blocksOfMachines, blocksOfSet, breakerBlock, budgetBlock, frozenObjectBlock } from '../../blocked/causes.ts';
import type { CountedSets } from '../state/status.ts';
import type { RolloutPlan } from '../state/step.ts';

export function blocksOfDeployment(
  deployment: MachineDeployment,
  { problems, repairs }: Pick<RolloutPlan, 'problems' | 'repairs'>,
  { current, old }: CountedSets,
  machinesOf: (set: MachineSet) => readonly Machine[],
): readonly Blocking[] {
  const { name } = deployment.metadata;
  const sets = [...(current ? [current] : []), ...old];
  const missing = sets.map(({ set, counts }) => ({ set, count: (set.spec.replicas ?? 0) - counts.replicas }));
  const isStopped = isFrozen(deployment) && missing.some(({ count }) => count > 0);
  return [
    ...problems.conditions
      .filter(({ type }) => type === MachineDeploymentConditions.RolloutWaiting)
      .map(
        ({ message }): Blocking => ({ cause: 'Window', object: { kind: 'MachineDeployment', name }, reason: message }),
      ),
    ...repairs.held.map(({ breaker }) => breakerBlock(breaker.scope)),
    ...(repairs.waiting.length > 0 ? [budgetBlock] : []),
    ...(isStopped ? [frozenObjectBlock('MachineDeployment', name)] : []),
    ...missing.flatMap(({ set, count }) => blocksOfSet(set, count)),
    ...sets.flatMap(({ set }) => blocksOfMachines(machinesOf(set))),
  ];
}
