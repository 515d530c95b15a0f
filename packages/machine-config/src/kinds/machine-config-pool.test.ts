import { startControlPlane } from '@mcm/control-plane';
import { createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machineConfigCrds } from '../crd/crds.ts';
import { machineConfigPools } from './resources.ts';

const ref = (kind: string, name = 'a') => ({ kind, namespace: 'default', name });

test('a pool has exactly one of selector, reference and references, the kind of its reference is immutable, and maxUnavailable is a count or percentage', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
  try {
    const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
    const pools = client.resource(machineConfigPools);
    const make = (spec: object) => pools.create({ metadata: { name: 'p' }, spec: spec as never });
    const change = (spec: object) => pools.patch('p', { type: 'merge', body: { spec } });
    const both = { machineRef: ref('MachineDeployment'), nodeSelector: { matchLabels: { a: 'b' } } };
    await expect(make(both)).rejects.toThrow('must have one of nodeSelector, machineRef and machineRefs');
    await expect(make({ maxUnavailable: -1 })).rejects.toThrow('must be 0 or more');
    for (const malformed of ['abc', '5', '150%', '101%', '-20%', '40 %', '']) {
      await expect(make({ maxUnavailable: malformed })).rejects.toThrow(
        `spec.maxUnavailable: Invalid value: ${JSON.stringify(malformed)}: must be a count such as 1, or a percentage`,
      );
    }
    await make({ machineRef: ref('MachineDeployment') });
    for (const good of [0, 7, '0%', '+50%', '050%', '100%']) await change({ maxUnavailable: good });
    await expect(change({ machineRef: ref('MachineSet') })).rejects.toThrow('kind is immutable');
    await change({ machineRef: ref('MachineDeployment', 'b') });
    await change({ machineRef: null });
    await change({ machineRef: ref('MachineSet') });
  } finally {
    await plane.close();
  }
});
