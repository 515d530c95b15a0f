import type { ControllerRow, ControllerState } from './wire.ts';

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

/** Returns true if the name belongs to a controller. `mcm up` also lists the control plane and the cloud. */
export const isController = (name: string): boolean => name.includes('controller');

export function controllersText(rows: readonly Pick<ControllerRow, 'name' | 'state'>[]): ControllersText {
  const states = rows.map(({ state }) => state);
  if (states.length === 0) return { text: 'Controllers not known', isBad: false };
  const worst = (['stopped', 'behind', 'unknown'] as const).find((state) => states.includes(state));
  if (worst === undefined) return { text: 'All controllers working', isBad: false };
  const found = rows.filter(({ state }) => state === worst);
  const count = found.length;
  const one = found.every(({ name }) => isController(name)) ? 'controller' : 'program';
  const noun = count === 1 ? one : `${one}s`;
  return { text: `${count} ${noun} ${CONTROLLER_NAMES[worst].toLowerCase()}`, isBad: worst !== 'unknown' };
}
