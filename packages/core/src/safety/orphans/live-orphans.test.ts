import { Labels, type Machine } from '@mcm/api';
import { createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { hc, machine, NOON, node } from '../../machine/testing.ts';
import { liveOrphans } from './live-orphans.ts';

const vm = (name: string): ListedInstance => ({ providerId: `fake-${name}`, machineName: name });

test('only a VM that no live machine has created or recorded is an orphan', async () => {
  const running = { status: { currentStatus: { phase: 'Running' } } } as const;
  const items: Machine[] = [
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
  // If the listing does not contain the recorded VM of the machine, a Node without a provider ID counts as the Node of
  // the VM.
  const ready = node({ name: 'edited', conditions: hc('True') });
  const store = { get: (name: string) => (name === 'edited' ? ready : undefined), byIndex: () => [] };
  const seen = { ...(options as object), caches: { target: { nodes: { store } } } } as never;
  const edited = [vm('edited')];
  const labelled = { ...items[2], metadata: { ...items[2]?.metadata, labels: { [Labels.Node]: 'edited' } } };
  items.splice(2, 1, labelled as Machine);
  expect(await liveOrphans(seen, edited, { startedAt: NOON, vms: edited })).toEqual([
    { vm: edited[0], machine: labelled, use: { use: 'claimed', node: ready } },
  ]);
  const both = [...edited, { providerId: 'fake-9', machineName: 'edited' }];
  expect(await liveOrphans(seen, edited, { startedAt: NOON, vms: both })).toMatchObject([{ use: { use: 'unseen' } }]);
});
