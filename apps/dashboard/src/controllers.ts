import type { ControllerState } from './wire.ts';

export const CONTROLLER_NAMES: Readonly<Record<ControllerState, string>> = {
  acts: 'Working',
  stopped: 'Not working',
  behind: 'Behind',
  unknown: 'Not known',
};

interface ControllersText {
  readonly text: string;
  readonly isBad: boolean;
}

/** Describes the worst state of all controllers, with the number of controllers in the worst state. */
export function controllersText(states: readonly ControllerState[]): ControllersText {
  if (states.length === 0) return { text: 'Controllers not known', isBad: false };
  const worst = (['stopped', 'behind', 'unknown'] as const).find((state) => states.includes(state));
  if (worst === undefined) return { text: 'All controllers working', isBad: false };
  const count = states.filter((state) => state === worst).length;
  const noun = count === 1 ? 'controller' : 'controllers';
  return { text: `${count} ${noun} ${CONTROLLER_NAMES[worst].toLowerCase()}`, isBad: worst !== 'unknown' };
}
