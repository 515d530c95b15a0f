import type { ControllerHealth } from './health.ts';

export const CONTROL_PLANE = 'control-plane';

export interface SilentProgram {
  readonly name: string;
  readonly since: string;
  readonly pid?: number | undefined;
}

const PLANE_EFFECTS = [
  'all controllers wait, because no program can read or change objects',
  'the output shows the last known state of the objects',
];
const CLOUD_EFFECTS = [
  'mcm creates and deletes no VM',
  'the kubelets that the cloud simulates send no status, so their Nodes become NotReady',
];

/** Returns the state of a program that does not respond. */
export const silentHealth = ({ name, since, pid }: SilentProgram): ControllerHealth => ({
  name,
  state: 'stopped',
  since,
  reason: `${name === CONTROL_PLANE ? 'the API server' : 'the API of the cloud'} does not respond${pid === undefined ? '' : ` (process ${pid})`}`,
  effects: name === CONTROL_PLANE ? PLANE_EFFECTS : CLOUD_EFFECTS,
  unprocessed: [],
});
