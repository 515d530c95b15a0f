import { startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machineConfigCrds } from '../crd/crds.ts';
import { machineConfigPools } from '../resources.ts';

const ref = (kind: string, name = 'a') => ({ kind, namespace: 'default', name });

test('a pool names one of selector, reference and references, keeps the kind of its reference, and a count is no less than 0', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
  try {
    const client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock });
    const pools = client.resource(machineConfigPools);
    const make = (spec: object) => pools.create({ metadata: { name: 'p' }, spec: spec as never });
    const change = (spec: object) => pools.patch('p', { type: 'merge', body: { spec } });
    const both = { machineRef: ref('MachineDeployment'), nodeSelector: { matchLabels: { a: 'b' } } };
    await expect(make(both)).rejects.toThrow('must have one of nodeSelector, machineRef and machineRefs');
    await expect(make({ maxUnavailable: -1 })).rejects.toThrow('must be 0 or more');
    await make({ machineRef: ref('MachineDeployment') });
    await expect(change({ machineRef: ref('MachineSet') })).rejects.toThrow('kind is immutable');
    await change({ machineRef: ref('MachineDeployment', 'b') });
    await change({ machineRef: null });
    await change({ machineRef: ref('MachineSet') });
  } finally {
    await plane.close();
  }
});
