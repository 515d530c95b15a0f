import type { ArmEndpointOptions, FaultRuleInput } from '@mcm/cloud-emulators';
import { describe, expect, test } from 'vitest';
import { refused } from '../stage.ts';
import { at, failing, ID, open, TAGS } from './open.ts';

/** Azure's scenarios for status and list calls. */

describe('status and listing', () => {
  test('status returns an existing VM, NotFound for a missing one, and Internal for an unreadable one [Z48]', async () => {
    const { stage, placeVm } = open();
    await refused(stage.status(), 'NotFound');
    placeVm();
    expect(await stage.status()).toEqual({ providerId: ID, nodeName: 'm-1' });
    await refused(open({}, [failing('^GET virtualMachines$')]).stage.status(), 'Internal');
  });

  test('the list contains VMs, and the names of machines with remaining disks and NICs [Z49]', async () => {
    const { stage, cloud } = open();
    expect(await stage.list()).toEqual([]);
    cloud.place(at.vm('vm-1'), { tags: TAGS, properties: {} });
    cloud.place(at.vm('vm-2'), { tags: TAGS, properties: {} });
    cloud.place(at.disk('vm-3-os-disk'), { tags: TAGS });
    cloud.place(at.vm('vm-4'), { tags: { other: '1' }, properties: {} });
    cloud.place(at.nic('vm-4-nic'), { tags: TAGS });
    expect((await stage.list()).map(({ machineName }) => machineName).toSorted()).toEqual([
      'vm-1',
      'vm-2',
      'vm-3',
      'vm-4',
    ]);
  });

  test('the list omits VMs with the tags of another cluster [Z50]', async () => {
    const { stage, cloud } = open();
    cloud.place(at.vm('vm-1'), {
      tags: { 'kubernetes.io-cluster-other': '1', 'kubernetes.io-role-node': '1' },
      properties: {},
    });
    expect(await stage.list()).toEqual([]);
  });

  const three = (options: Partial<ArmEndpointOptions> = {}, faults: readonly FaultRuleInput[] = []) => {
    const opened = open({ pageSize: 1, ...options }, faults);
    for (const name of ['vm-1', 'vm-2', 'vm-3']) opened.cloud.place(at.vm(name), { tags: TAGS, properties: {} });
    return opened;
  };

  test('the list reads all three pages [Z51]', async () => {
    const { stage, asked } = three();
    expect(await stage.list()).toHaveLength(3);
    expect(asked('POST', 'ResourceGraph').map(({ body }) => 'options' in body)).toEqual([false, true, true]);
  });

  test('an error on a page fails the list, and a single page needs one request [Z52]', async () => {
    await refused(three({}, [{ ...failing('^POST graph$'), after: 1 }]).stage.list(), 'Internal');
    const ends = three({ pageSize: 3 });
    expect([(await ends.stage.list()).length, ends.sent.length]).toEqual([3, 1]);
    const none = open();
    expect([await none.stage.list(), none.sent.length]).toEqual([[], 1]);
  });
});
