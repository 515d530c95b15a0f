import type { ControllerHealth } from './health.ts';

export const CONTROL_PLANE = 'control-plane';

export interface SilentProgram {
  readonly name: string;
  readonly since: string;
  readonly pid?: number | undefined;
}

const PLANE_EFFECTS = [
  'all controllers are stopped, because no program can read or change objects',
  'the displayed objects have their last known state',
];
const CLOUD_EFFECTS = [
  'the creation and deletion of VMs are stopped',
  'kubelets that the cloud simulates are stopped, so their Nodes become NotReady',
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
