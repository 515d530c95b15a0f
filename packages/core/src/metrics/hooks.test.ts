import { Annotations } from '@mcm/api';
import { createMetrics } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { registerHookMetrics } from './hooks.ts';

const HOOKS = 'before-drain backup storage 10m Continue; before-delete detach storage 1h Block';

const waiting = (uid: string) =>
  machine({
    metadata: {
      uid,
      annotations: {
        [Annotations.Hooks]: HOOKS,
        [Annotations.HooksBegun]: 'before-drain=2026-01-01T12:00:00Z',
        [`before-drain.${Annotations.HookSuffix}/backup`]: 'storage',
      },
    },
  });

async function linesAt(now: string): Promise<string[]> {
  const metrics = createMetrics({ process: false });
  const all = [waiting('a'), waiting('b'), machine({ metadata: { uid: 'c' } })];
  registerHookMetrics(metrics.meters, {
    machines: { store: { list: () => all } },
    classOf: () => undefined,
    clock: { now: () => new Date(now) },
  });
  return (await metrics.scrape()).text.split('\n').filter((line) => line.startsWith('mcm_machine_hooks'));
}

test('the machines that wait for a hook are counted by stage, hook and owner', async () => {
  expect(await linesAt('2026-01-01T12:09:59Z')).toEqual([
    'mcm_machine_hooks_pending{stage="before-drain",hook="backup",owner="storage"} 2',
    'mcm_machine_hooks_overdue{stage="before-drain",hook="backup",owner="storage"} 0',
  ]);
});

test('a machine is overdue after the timeout of the hook', async () => {
  expect((await linesAt('2026-01-01T12:10:00Z'))[1]).toBe(
    'mcm_machine_hooks_overdue{stage="before-drain",hook="backup",owner="storage"} 2',
  );
});
