import { Annotations, type Machine, type MachineDeployment, parseTime, phaseOf } from '@mcm/api';

/** The possible states of a warm machine's VM. */
export const WARM_STATES = ['Stopped', 'Hibernated', 'Running'] as const;

/** The state of the VM of a warm machine. */
export type WarmState = (typeof WARM_STATES)[number];

/** Maximum number of warm machines of one deployment. */
export const MOST_WARM = 500;

/** The number and the state of the warm machines that a deployment keeps. */
export interface WarmSetting {
  readonly count: number;
  readonly state: WarmState;
}

const isState = (text: string): text is WarmState => (WARM_STATES as readonly string[]).includes(text);

/**
 * Returns the number and the state of a deployment's warm machines, or a sentence about the problem of its annotations.
 */
export function warmSettingOf({
  metadata,
}: {
  readonly metadata: Pick<MachineDeployment['metadata'], 'annotations'>;
}): WarmSetting | { readonly problem: string } | undefined {
  const { annotations = {} } = metadata;
  const { [Annotations.WarmMachines]: given, [Annotations.WarmState]: state = 'Stopped' } = annotations;
  const buffer =
    annotations[Annotations.WarmBuffer] === undefined ? undefined : annotations[Annotations.WarmBufferMachines];
  const number = given ?? buffer;
  if (number === undefined) return undefined;
  const count = /^\d{1,3}$/.test(number) ? Number(number) : MOST_WARM + 1;
  const said = (key: string, value: string, hint: string) => ({
    problem: `metadata.annotations[${key}]: ${JSON.stringify(value)} is ignored; ${hint}`,
  });
  if (count > MOST_WARM) return said(Annotations.WarmMachines, number, `write a number from 0 to ${MOST_WARM}`);
  if (!isState(state)) return said(Annotations.WarmState, state, `write ${WARM_STATES.join(', ')}`);
  return { count: Math.max(count, numberIn(buffer)), state };
}

/** The manager writes this number for a buffer. An invalid number comes from a user, and counts as 0. */
const numberIn = (text = '0'): number => (/^\d{1,3}$/.test(text) ? Math.min(Number(text), MOST_WARM) : 0);

/** Returns the state of a warm machine, or undefined if the machine is not warm. */
export function warmStateOf({ metadata }: Pick<Machine, 'metadata'>): WarmState | undefined {
  const text = metadata.annotations?.[Annotations.WarmState];
  if (text === undefined) return undefined;
  return isState(text) ? text : 'Running';
}

/** The power state of a VM that mcm has stopped. */
export type Power = { readonly is: 'Stopped' } | { readonly is: 'Stopping' | 'Starting'; readonly since: Date };

/** Returns the power state of a machine's VM, or undefined if mcm has not stopped the VM. */
export function powerOf({ metadata }: Pick<Machine, 'metadata'>): Power | undefined {
  const text = metadata.annotations?.[Annotations.WarmPower];
  if (text === undefined) return undefined;
  const [word, time] = text.split(' ');
  const since = parseTime(time);
  if (since && (word === 'Stopping' || word === 'Starting')) return { is: word, since };
  // An invalid power state counts as stopped, because a repeated `stop` or `start` call does no harm.
  return { is: 'Stopped' };
}

export const powerText = (is: 'Stopping' | 'Starting', now: Date): string => `${is} ${now.toISOString()}`;

export const WarmTexts = {
  stopped: 'Machine is warm: its VM stays stopped until a scale-up',
  taken: 'Warm machine taken over by a MachineSet',
  starting: 'Machine was warm: starting its VM',
} as const;

/** Returns true while a set is taking the warm machine, so that no other set can use it. */
export const isTaken = (machine: Machine): boolean =>
  warmStateOf(machine) !== undefined &&
  phaseOf(machine) === 'Pending' &&
  machine.status?.lastOperation?.description === WarmTexts.taken;

/** Returns true if a set with the template hash can use the warm machine now. */
export function isUsable(machine: Machine, templateHash: string | undefined): boolean {
  const { deletionTimestamp, annotations = {} } = machine.metadata;
  const state = warmStateOf(machine);
  if (state === undefined || deletionTimestamp !== undefined || templateHash === undefined) return false;
  if (annotations[Annotations.WarmTemplate] !== templateHash) return false;
  if (isTaken(machine)) return true;
  const power = powerOf(machine);
  if (state === 'Running') return power === undefined && phaseOf(machine) === 'Running';
  return power?.is === 'Stopped' && phaseOf(machine) === 'Available';
}
