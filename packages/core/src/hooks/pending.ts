import { Annotations, formatTime, isForceDeletion, type Machine, type MachineClass, parseTime } from '@mcm/api';
import { interruptionOf } from '../interruption/notice.ts';
import { evaluateCondition } from './condition.ts';
import { HOOK_STAGES, type Hook, type HookStage, hooksOf } from './definitions.ts';

/**
 * Returns the annotation key for a hook. A machine has the annotation of a hook until the owner of the hook removes it.
 */
export const hookKey = ({ stage, name }: Pick<Hook, 'stage' | 'name'>): string =>
  `${stage}.${Annotations.HookSuffix}/${name}`;

/** A hook that has not finished yet. */
export interface PendingHook {
  readonly hook: Hook;
  readonly since: Date;
  readonly until: Date;
}

export type StageState =
  /** The stage has no hooks, or all hooks of the stage have finished. */
  | { readonly is: 'done' }
  | { readonly is: 'new'; readonly annotations: Readonly<Record<string, string>>; readonly hooks: readonly Hook[] }
  /** The machine waits for the hooks in `pending`. */
  | { readonly is: 'pending'; readonly pending: readonly PendingHook[]; readonly expired: readonly PendingHook[] };

const DONE: StageState = { is: 'done' };

function begunOf({ metadata }: Machine): ReadonlyMap<string, Date> {
  const entries = (metadata.annotations?.[Annotations.HooksBegun] ?? '').split(',').map((entry) => entry.split('='));
  const begun = new Map<string, Date>();
  for (const [stage = '', text] of entries) {
    const at = parseTime(text);
    if (at !== undefined) begun.set(stage, at);
  }
  return begun;
}

const applies = ({ condition, afterTimeout }: Hook, machine: Machine): boolean =>
  condition === undefined || (evaluateCondition(condition, machine) ?? afterTimeout === 'Block');

/**
 * Returns the state of a stage. At the start of a stage, one write adds the start time and an annotation for each hook
 * to the Machine. The annotations of the Machine contain the whole state of its hooks, so a restart of any program
 * loses nothing.
 */
export function stageState(
  machine: Machine,
  machineClass: MachineClass | undefined,
  stage: HookStage,
  now: Date,
): StageState {
  const hooks = hooksOf(machine, machineClass).hooks.filter((hook) => hook.stage === stage);
  if (hooks.length === 0) return DONE;
  const begun = begunOf(machine);
  const since = begun.get(stage);
  if (since === undefined) {
    const applying = hooks.filter((hook) => applies(hook, machine));
    if (applying.length === 0) return DONE;
    const all = [...begun, [stage, now] as const].map(([name, at]) => `${name}=${formatTime(at)}`).join(',');
    const keys = applying.map((hook) => [hookKey(hook), hook.owner] as const);
    return { is: 'new', annotations: { [Annotations.HooksBegun]: all, ...Object.fromEntries(keys) }, hooks: applying };
  }
  const unfinished = hooks
    .filter((hook) => machine.metadata.annotations?.[hookKey(hook)] !== undefined)
    .map((hook) => ({ hook, since, until: new Date(since.getTime() + hook.timeoutMs) }));
  const isExpired = ({ hook, until }: PendingHook): boolean => hook.afterTimeout === 'Continue' && until <= now;
  const pending = unfinished.filter((each) => !isExpired(each));
  const expired = unfinished.filter(isExpired);
  return unfinished.length === 0 ? DONE : { is: 'pending', pending, expired };
}

/**
 * Returns true if the machine does not wait for hooks, because it has the label `force-deletion` or the cloud will end
 * its VM.
 */
export const ignoresHooks = (machine: Machine, interruptions: boolean): boolean =>
  isForceDeletion(machine) || (interruptions && interruptionOf(machine) !== undefined);

/** Returns the unfinished hooks of a machine in all stages. */
export const pendingHooksOf = (
  machine: Machine,
  machineClass: MachineClass | undefined,
  now: Date,
): readonly PendingHook[] =>
  HOOK_STAGES.flatMap((stage) => {
    const state = stageState(machine, machineClass, stage, now);
    return state.is === 'pending' ? [...state.pending, ...state.expired] : [];
  });

/** A hook for which a machine waits now or later. */
export interface AwaitedHook {
  readonly hook: Hook;
  /** The longest remaining wait in milliseconds. The wait for a hook with `Block` has no limit. */
  readonly mostMs: number;
}

/** Returns the hooks of a stage for which a machine still waits. The hooks of one stage run at the same time. */
export function awaitedHooks(
  machine: Machine,
  machineClass: MachineClass | undefined,
  stage: HookStage,
  now: Date,
): readonly AwaitedHook[] {
  if (ignoresHooks(machine, true)) return [];
  const state = stageState(machine, machineClass, stage, now);
  const awaited = (hook: Hook, ms: number): AwaitedHook => ({
    hook,
    mostMs: hook.afterTimeout === 'Block' ? Number.POSITIVE_INFINITY : Math.max(ms, 0),
  });
  if (state.is === 'new') return state.hooks.map((hook) => awaited(hook, hook.timeoutMs));
  if (state.is === 'done') return [];
  return [...state.pending, ...state.expired].map(({ hook, until }) => awaited(hook, until.getTime() - now.getTime()));
}

/** The text about unfinished hooks changes only when a hook ends or its timeout expires. */
export function describeHooks(pending: readonly PendingHook[], now: Date): string {
  const texts = pending.map(({ hook: { name, owner, stage }, since, until }) => {
    const late = until <= now ? ' (the timeout has passed)' : '';
    return `${stage} hook ${name} of ${owner}, since ${formatTime(since)}${late}`;
  });
  return `waiting for ${texts.join('; ')}`;
}
