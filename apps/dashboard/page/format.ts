import type { Level, RolloutState, Stage } from '../src/wire.ts';

export const LEVEL_NAMES: Readonly<Record<Level, string>> = {
  failed: 'Failed',
  blocked: 'Blocked',
  leaving: 'Leaving',
  starting: 'Starting',
  ready: 'Ready',
};

export const STAGE_NAMES: Readonly<Record<Stage, string>> = {
  vm: 'Waiting for the VM',
  join: 'Waiting for the node',
  run: 'Running',
  drain: 'Draining',
  delete: 'Deleting the VM',
  gone: 'Gone',
};

export const ROLLOUT_NAMES: Readonly<Record<RolloutState, string>> = {
  failed: 'Blocked for a long time',
  blocked: 'Blocked',
  deleting: 'Being deleted',
  rolling: 'Rolling out',
  scaling: 'Scaling',
  waiting: 'Waiting',
  paused: 'Paused',
  complete: 'Complete',
};

export const ROLLOUT_LEVELS: Readonly<Record<RolloutState, Level>> = {
  failed: 'failed',
  blocked: 'blocked',
  deleting: 'leaving',
  rolling: 'starting',
  scaling: 'starting',
  waiting: 'leaving',
  paused: 'leaving',
  complete: 'ready',
};

/** Formats a duration with one or two units, as `kubectl get` does. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600), Math.floor(seconds / 86_400)];
  if (days >= 2) return `${days}d`;
  if (hours >= 2) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`;
  if (minutes >= 10) return `${minutes}m`;
  if (minutes >= 1) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m ${seconds % 60}s`;
  return `${seconds}s`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const timeOf = (at: number): string => clock.format(at);

export const plural = (number: number, noun: string): string =>
  `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`;

/** Returns the address of the page of an object. */
export const machineHref = (key: string): string => `/machines/${key}`;
export const rolloutHref = (key: string): string => `/rollouts/${key}`;
export const yamlHref = (kind: string, ns: string, name: string): string => `/yaml/${kind}/${ns || '-'}/${name}`;
