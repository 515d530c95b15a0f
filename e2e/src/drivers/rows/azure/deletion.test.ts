import { describe, expect, test } from 'vitest';
import { refused } from '../stage.ts';
import { at, failing, open, TAGS } from './open.ts';

/** Azure's scenarios for deletions. */

describe('deletion', () => {
  test('if Azure deletes the resources with the VM, no change is needed [Z34]', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm();
    await stage.delete();
    expect([names(), asked('PATCH', ''), asked('DELETE', '').length]).toEqual([[], [], 1]);
  });

  test('resources that Azure would keep are deleted first [Z35]', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm({ nic: 'Detach', os: 'Detach' });
    await stage.delete();
    expect([names(), asked('PATCH', '').length]).toEqual([[], 1]);
  });

  test('the disk of a persistent volume stays [Z36]', async () => {
    const { stage, names, cloud, placeVm } = open();
    cloud.place(at.disk('pv-1'), { properties: {} });
    placeVm({ more: { dataDisks: [{ name: 'pv-1', lun: 3, createOption: 'Attach', deleteOption: 'Detach' }] } });
    await stage.delete();
    expect(names()).toEqual(['pv-1']);
    expect(
      (await cloud.transport({ method: 'GET', path: `${at.disk('pv-1')}?api-version=1`, headers: {} })).status,
    ).toBe(200);
  });

  test('left-over resources that another VM uses are kept [Z39]', async () => {
    const { stage, cloud, names, placeVm } = open();
    placeVm();
    cloud.place(at.nic('m-2-nic'), { tags: TAGS });
    cloud.place(at.vm('other'), {
      properties: { networkProfile: { networkInterfaces: [{ id: at.nic('m-2-nic') }] }, storageProfile: {} },
    });
    await refused(stage.delete({ name: 'm-2' }), 'Internal');
    expect(names()).toContain('m-2-nic');
  });

  test('a failed VM is deleted, and then its remaining resources [Z40]', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm({ nic: 'Detach', os: 'Detach', state: 'Failed' });
    await stage.delete();
    expect([names(), asked('PATCH', '')]).toEqual([[], []]);
  });

  test('a deletion with an unreadable resource group or VM fails [Z42]', async () => {
    for (const on of ['^HEAD resourceGroups$', '^GET virtualMachines$']) {
      const { stage, names, placeVm } = open({}, [failing(on)]);
      placeVm();
      await refused(stage.delete(), 'Internal');
      expect(names()).toHaveLength(3);
    }
  });

  test('without a VM, the disk is deleted even if the NIC cannot be deleted [Z43]', async () => {
    const { stage, cloud, names } = open({}, [failing('^DELETE networkInterfaces$')]);
    cloud.place(at.nic(), { tags: TAGS });
    cloud.place(at.disk(), { tags: TAGS });
    await refused(stage.delete(), 'Internal');
    expect(names()).toEqual(['m-1-nic']);
  });

  test('without a VM, the NIC is deleted even if the deletion of the disk fails [Z44]', async () => {
    const { stage, cloud, names } = open({}, [{ on: '^DELETE disks$', lose: 'before' }]);
    cloud.place(at.nic(), { tags: TAGS });
    cloud.place(at.disk(), { tags: TAGS });
    await refused(stage.delete(), 'Internal');
    expect(names()).toEqual(['m-1-os-disk']);
  });

  test('if a change fails, the VM remains [Z45]', async () => {
    const { stage, names, placeVm } = open({}, [failing('^PATCH virtualMachines$')]);
    placeVm({ os: 'Detach' });
    await refused(stage.delete(), 'Internal');
    expect(names()).toHaveLength(3);
  });

  test('a deletion that Azure refuses after the change of the VM is an error [Z46]', async () => {
    const { stage, cloud, placeVm } = open({}, [failing('^DELETE virtualMachines$')]);
    placeVm({ os: 'Detach' });
    await refused(stage.delete(), 'Internal');
    const left = await cloud.transport({ method: 'GET', path: `${at.vm()}?api-version=1`, headers: {} });
    expect(JSON.parse(await left.text()).properties.storageProfile.osDisk.deleteOption).toBe('Delete');
  });
});
