import { isFrozen, type Machine, type MachineSet } from '@mcm/api';
import type { Blocking } from './blocks.ts';

/**
 * The text about an open circuit breaker contains no numbers. With numbers, each change of one machine would cause
 * status writes for all waiting machines.
 */
export const breakerBlock = (scope: string): Blocking => ({
  cause: 'Breaker',
  reason: `too many machines of the ${scope} became unreachable at the same time, so mcm replaces no unreachable machine`,
});

export const budgetBlock: Blocking = {
  cause: 'Budget',
  reason: 'other machines are being replaced, and --max-unhealthy-replacements limits replacements',
};

/** mcm adds the label `freeze` to an object with too many machines, and then creates no machines for the object. */
export const frozenObjectBlock = (kind: 'MachineSet' | 'MachineDeployment', name: string): Blocking => ({
  cause: 'Frozen',
  object: { kind, name },
  reason: `${kind} ${name} has the label freeze, so mcm creates no machines for it`,
});

export const blocksOfMachines = (machines: readonly Machine[]): readonly Blocking[] =>
  machines.flatMap(({ status }) => status?.blockedBy ?? []);

export const blocksOfSet = (set: MachineSet, missing: number): readonly Blocking[] =>
  missing > 0 && isFrozen(set) ? [frozenObjectBlock('MachineSet', set.metadata.name)] : [];
