import { counted } from '@mcm/api';
import { allOf, type Resize, type Sizes, sum } from './size.ts';

/**
 * The error for a plan that breaks a limit because of a defect in the planner. The controller does not execute such a
 * plan.
 */
export class PlanRefused extends Error {
  override readonly name = 'PlanRefused';
}

export interface PlanBounds {
  readonly replicas: number;
  readonly surge: number;
  readonly unavailable: number;
  readonly strategy: string | undefined;
}

/**
 * Checks that the sizes are non-negative integers, and that their sum does not exceed replicas + surge.
 * @throws PlanRefused with the violated limit
 */
export function checkPlan(sizes: Sizes, resize: Resize, { replicas, surge, unavailable, strategy }: PlanBounds): void {
  for (const [name, size] of resize) {
    if (!Number.isSafeInteger(size) || size < 0)
      throw new PlanRefused(
        `mcm refused to scale MachineSet ${name} to ${size}, because the size must be an integer of 0 or more`,
      );
  }
  const all = allOf(sizes);
  const before = sum(all, (size) => size.replicas);
  const after = sum(all, (size) => resize.get(size.name) ?? size.replicas);
  if (after > before && after > replicas + surge) {
    throw new PlanRefused(
      `mcm refused to scale the MachineSets from ${before} to ${counted(after, 'machine')} in total: the limit is ${counted(replicas, 'replica')} and ${counted(surge, 'surge machine')}`,
    );
  }
  const allowed = strategy === 'Recreate' || (before === 1 && unavailable >= replicas);
  if (after === 0 && before > 0 && replicas > 0 && !allowed) {
    throw new PlanRefused(`mcm refused to scale all MachineSets to 0: spec.replicas is ${replicas}`);
  }
}
