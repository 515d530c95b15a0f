import { type ControllerHealth, doesAct, notActing } from '../../controllers/health.ts';

const MANAGER = 'machine-controller-manager';
const MACHINES = 'machine-controller';

interface Wait {
  readonly phase: string;
  readonly doing: string;
  readonly deadline?: unknown;
}

/** If the machine controller is not working, replaces the text of a wait and removes its deadline. */
export function waitUnder<T extends Wait>(wait: T, controllers: readonly ControllerHealth[]): T {
  if (doesAct(controllers, MACHINES)) return wait;
  const { deadline: _, ...rest } = wait;
  return { ...rest, doing: `${MACHINES} is not working; last report: ${wait.doing}` } as T;
}

/** Returns the reason why no machine is replaced, if the manager is not working. */
export const managerHold = (controllers: readonly ControllerHealth[], deployment?: string): readonly string[] =>
  doesAct(controllers, MANAGER, deployment) ? [] : [`${MANAGER} is not working`];

interface Announcing {
  readonly name: string;
  readonly next: string;
  readonly changes: readonly string[];
  readonly waitsFor: readonly Wait[];
  readonly hints: readonly string[];
}

/** A hint ends with this text only if the manager works, because a stopped manager does not continue the rollout. */
export const ROLLOUT_CONTINUES = 'after the change, the rollout continues';

/** Removes the next step from an explanation if the manager is not working. */
export function explanationUnder<T extends Announcing>(
  explanation: T,
  controllers: readonly ControllerHealth[],
): T & { readonly controllers: readonly ControllerHealth[] } {
  const acts = doesAct(controllers, MANAGER, explanation.name);
  return {
    ...explanation,
    next: acts ? explanation.next : `no step, because ${MANAGER} is not working`,
    changes: acts ? explanation.changes : [],
    waitsFor: explanation.waitsFor.map((wait) => waitUnder(wait, controllers)),
    hints: acts ? explanation.hints : explanation.hints.map((hint) => hint.replace(`; ${ROLLOUT_CONTINUES}`, '')),
    controllers: notActing(controllers),
  };
}
