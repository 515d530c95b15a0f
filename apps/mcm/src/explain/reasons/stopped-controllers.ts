import { type ControllerHealth, doesAct, notActing } from '../../controllers/health.ts';

const MANAGER = 'machine-controller-manager';
const MACHINES = 'machine-controller';

/** A wait, its deadline and the expected result. */
interface Wait {
  readonly phase: string;
  readonly doing: string;
  readonly deadline?: unknown;
}

/**
 * Changes a wait if the machine controller is not working. The deadline is removed, because no action follows, and the
 * text contains the last report of the controller.
 */
export function waitUnder<T extends Wait>(wait: T, controllers: readonly ControllerHealth[]): T {
  if (doesAct(controllers, MACHINES)) return wait;
  const { deadline: _, ...rest } = wait;
  return { ...rest, doing: `${MACHINES} is not working; last report: ${wait.doing}` } as T;
}

/**
 * If the manager is not working, returns the reason why no machine is replaced. The reason can follow "as long as" in a
 * sentence.
 */
export const managerHold = (controllers: readonly ControllerHealth[], deployment?: string): readonly string[] =>
  doesAct(controllers, MANAGER, deployment) ? [] : [`${MANAGER} is not working`];

/** The parts of an explanation that contain future actions of controllers. */
interface Announcing {
  readonly name: string;
  readonly next: string;
  readonly changes: readonly string[];
  readonly waitsFor: readonly Wait[];
}

/** Removes the next step from the explanation of a deployment if the manager is not working. */
export function explanationUnder<T extends Announcing>(
  explanation: T,
  controllers: readonly ControllerHealth[],
): T & { readonly controllers: readonly ControllerHealth[] } {
  const acts = doesAct(controllers, MANAGER, explanation.name);
  return {
    ...explanation,
    next: acts ? explanation.next : `none: ${MANAGER} is not working`,
    changes: acts ? explanation.changes : [],
    waitsFor: explanation.waitsFor.map((wait) => waitUnder(wait, controllers)),
    controllers: notActing(controllers),
  };
}
