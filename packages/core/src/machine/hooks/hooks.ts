import { defined } from '@mcm/kube';
import type { HookStage } from '../../hooks/definitions.ts';
import { describeHooks, hookKey, ignoresHooks, type PendingHook, stageState } from '../../hooks/pending.ts';
import { hookBlocks } from '../model/blocked-by.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, nextAt, type Plan, type PlannedEvent } from '../model/plan.ts';

type Report = (because: string, event: PlannedEvent | undefined) => readonly Action[];

const ignores = ({ machine, interruptions }: MachineObservation): boolean =>
  ignoresHooks(machine, interruptions === true);

/**
 * Plans the hooks of a stage, or returns undefined if the machine does not need to wait.
 * - After the timeout of a hook with the policy `Continue`, mcm removes the annotation of the hook and sends a warning.
 * - The machine waits for a hook with the policy `Block` without a limit.
 */
export function planHooks(o: MachineObservation, stage: HookStage, now: Date, report: Report): Plan | undefined {
  if (ignores(o)) return undefined;
  const state = stageState(o.machine, o.machineClass, stage, now);
  if (state.is === 'done') return undefined;
  if (state.is === 'new') {
    const names = state.hooks.map(({ name, owner }) => `${name} of ${owner}`).join(', ');
    const message = `The machine waits for ${stage} hooks: ${names}`;
    return act(
      `starting the ${stage} hooks of the machine`,
      { do: 'annotate', annotations: state.annotations },
      { do: 'say', event: { type: 'Normal', reason: 'HooksBegun', message } },
    );
  }
  if (state.expired.length > 0) return planExpired(stage, state.expired);
  const because = describeHooks(state.pending, now);
  const late = state.pending.some(({ until }) => until <= now);
  const event = late ? ({ type: 'Warning', reason: 'HookTimedOut', message: `Still ${because}` } as const) : undefined;
  return {
    actions: report(because, event),
    next: nextAt(...state.pending.map(({ until }) => (until > now ? until : undefined))),
    because,
    blockedBy: hookBlocks(state.pending),
  };
}

function planExpired(stage: HookStage, expired: readonly PendingHook[]): Plan {
  const names = expired.map(({ hook }) => `${hook.name} of ${hook.owner}`).join(', ');
  const message = `The machine continues, because the timeout of these ${stage} hooks has passed: ${names}`;
  return act(
    `the timeout of ${stage} hooks of the machine has passed`,
    { do: 'annotate', annotations: Object.fromEntries(expired.map(({ hook }) => [hookKey(hook), null])) },
    { do: 'say', event: { type: 'Warning', reason: 'HookTimedOut', message } },
  );
}

export const awaitsReadyHooks = (o: MachineObservation, now: Date): boolean =>
  !ignores(o) && stageState(o.machine, o.machineClass, 'after-ready', now).is !== 'done';

export const withEvent = (actions: readonly Action[], event: PlannedEvent | undefined): readonly Action[] =>
  actions.map((action) => (action.do === 'writeStatus' ? defined({ ...action, event }) : action));
