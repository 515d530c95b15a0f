import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import type { Clock, Meters, Sample } from '@mcm/kube';
import { type PendingHook, pendingHooksOf } from '../hooks/pending.ts';
import type { ObserveHookCall } from '../hooks/webhooks/caller.ts';
import type { Source } from './sources.ts';

interface HookSources {
  readonly machines: { readonly store: Pick<Source<Machine>['store'], 'list'> };
  readonly classOf: (machine: Machine) => MachineClass | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

const LABELS = ['stage', 'hook', 'owner'];

/** Registers the metrics of hooks. */
export function registerHookMetrics(meters: Meters, { machines, classOf, clock }: HookSources): void {
  const perHook = (counts: (pending: PendingHook, now: Date) => boolean): Sample[] => {
    const now = clock.now();
    const sums = new Map<string, Sample>();
    for (const machine of machines.store.list()) {
      if (machine.metadata.annotations?.[Annotations.HooksBegun] === undefined) continue;
      for (const pending of pendingHooksOf(machine, classOf(machine), now)) {
        const { stage, name, owner } = pending.hook;
        const labels = { stage, hook: name, owner };
        const key = JSON.stringify(labels);
        sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + (counts(pending, now) ? 1 : 0) });
      }
    }
    return [...sums.values()];
  };
  meters.observed(
    { name: 'mcm_machine_hooks_pending', help: 'Number of machines that wait for a hook', labels: LABELS },
    () => perHook(() => true),
  );
  meters.observed(
    {
      name: 'mcm_machine_hooks_overdue',
      help: 'Number of machines that wait for a hook for longer than its timeout',
      labels: LABELS,
    },
    () => perHook(({ until }, now) => until <= now),
  );
}

/** Registers the metric of webhook calls, and returns the function that counts the calls. */
export function registerHookCallMetrics(meters: Meters): ObserveHookCall {
  const calls = meters.counter({
    name: 'mcm_machine_hook_calls_total',
    help: 'Number of webhook calls for hooks, by outcome: finished, waits or failed',
    labels: ['webhook', 'outcome'],
  });
  return (webhook, outcome) => calls({ webhook, outcome });
}
