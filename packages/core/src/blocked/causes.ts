import { isFrozen, type Machine, type MachineSet } from '@mcm/api';
import type { Blocking } from './blocks.ts';

/** The text contains no numbers. With numbers, the change of one machine would change the statuses of all machines. */
export const breakerBlock = (scope: string): Blocking => ({
  cause: 'Breaker',
  reason: `too many machines of the ${scope} became unreachable at the same time, so mcm replaces no unreachable machine`,
});

export const budgetBlock: Blocking = {
  cause: 'Budget',
  reason: 'other machines are being replaced, and --max-unhealthy-replacements limits replacements',
};

/** The label `freeze` stops creations, because the object has too many machines. */
export const frozenObjectBlock = (kind: 'MachineSet' | 'MachineDeployment', name: string): Blocking => ({
  cause: 'Frozen',
  object: { kind, name },
  reason: `${kind} ${name} has the label freeze, so mcm creates no machines for it`,
});

/** A MachineSet or MachineDeployment repeats the blocks of its machines in its own status. */
export const blocksOfMachines = (machines: readonly Machine[]): readonly Blocking[] =>
  machines.flatMap(({ status }) => status?.blockedBy ?? []);

/**
 * @param missing the number of machines that the set must create
 */
export const blocksOfSet = (set: MachineSet, missing: number): readonly Blocking[] =>
  missing > 0 && isFrozen(set) ? [frozenObjectBlock('MachineSet', set.metadata.name)] : [];
