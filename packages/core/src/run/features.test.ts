import { type MachineClass, machineClasses, machines } from '@mcm/api';
import { podDisruptionBudgets, secrets } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { MACHINE_DEFAULTS } from '../settings/settings.ts';
import { NAMESPACE } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const HOUR = 60 * 60_000;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('UndrainablePolicy off', () => {
  test('a drain is forced after its timeout with any annotation, and an invalid one is not reported', async () => {
    const rig = await startRig({ controller: { defaults: { ...MACHINE_DEFAULTS, undrainablePolicy: false } } });
    for (const [name, policy] of [
      ['m-0', 'Hold'],
      ['m-1', 'rubbish'],
    ] as const) {
      const annotations = { 'node.machine.sapcloud.io/undrainable-policy': policy };
      await rig.createMachine(name, { drainTimeout: '30m' }, { annotations });
    }
    await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
    expect(await rig.description('m-1')).not.toContain('undrainable');
    await rig.admin.resource(podDisruptionBudgets, NAMESPACE).create({
      metadata: { name: 'web', namespace: NAMESPACE },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    await rig.createPod('web-1', 'm-0', { app: 'web' });
    await rig.admin.resource(machines, NAMESPACE).delete('m-0');
    await rig.until(async () => (await rig.machine('m-0')) === undefined, HOUR);
  });
});

describe('SiblingCredentials off', () => {
  test('a machine whose credentials are refused waits: credentials of other classes are not used', async () => {
    let revoked = false;
    const rig = await startRig({
      cloud: { accepts: ({ key }) => !revoked || key === 'new' },
      controller: { siblingCredentials: false },
    });
    for (const name of ['old', 'new']) {
      const metadata = { name, namespace: NAMESPACE };
      await rig.admin.resource(secrets, NAMESPACE).create({
        metadata,
        data: { userData: base64('x'), key: base64(name) },
      });
      await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).create({
        metadata,
        provider: 'fake',
        providerSpec: {},
        secretRef: metadata,
      });
    }
    await rig.createMachine('m-0', { class: { kind: 'MachineClass', name: 'old' } });
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    revoked = true;
    await rig.admin.resource(machines, NAMESPACE).delete('m-0');
    await rig.clock.advance(2 * HOUR);
    expect(await rig.description('m-0')).toContain('Unauthenticated');
    expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m-0']);
  });
});
