import type { Machine } from '@mcm/api';
import { createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { machine, NOON } from '../../machine/testing.ts';
import { liveOrphans } from './live-orphans.ts';

const vm = (name: string): ListedInstance => ({ providerId: `fake-${name}`, machineName: name });

test('only a VM that no live machine has created or recorded is an orphan', async () => {
  const running = { status: { currentStatus: { phase: 'Running' } } } as const;
  const items: readonly Machine[] = [
    machine({ name: 'creating' }),
    machine({ name: 'renamed', spec: { providerID: 'fake-recorded' }, ...running }),
    machine({ name: 'edited', spec: { providerID: 'fake-9' }, ...running }),
  ];
  const transport = () => Promise.resolve(Response.json({ kind: 'List', metadata: { resourceVersion: '1' }, items }));
  const control = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  const vms = ['creating', 'recorded', 'edited', 'alone'].map(vm);
  const options = { control, namespace: 'test', caches: {}, target: undefined } as never;
  expect(await liveOrphans(options, vms, { startedAt: NOON, vms })).toEqual([
    { vm: vm('edited'), machine: items[2], use: { use: 'none' } },
    { vm: vm('alone'), machine: undefined, use: { use: 'none' } },
  ]);
});
