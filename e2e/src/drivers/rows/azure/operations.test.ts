import { describe, expect, test } from 'vitest';
import { refused } from '../stage.ts';
import { at, failing, ID, image, open, SECRET, storage, URN, withProperties } from './open.ts';

/**
 * Azure's scenarios for data that machines of a class share, and for operations that continue after the process has
 * ended.
 */

describe('an invalid tenant', () => {
  const why = 'invalid tenantID. You can locate your tenantID by following the instructions listed here';
  const secret = { ...SECRET, tenantID: 'no/tenant' };
  const vm = '[ResourceGroup: rg, VMName: m-1]';

  test.each([
    ['create', 'Internal', `failed to create subnet access, Err: ${why}`],
    ['status', 'Internal', `Failed to create virtual machine access to process request: ${vm}, Err: ${why}`],
    ['list', 'Unknown', why],
  ] as const)('%s reports it with the original’s text', async (call, code, words) => {
    const said = await refused(open().stage[call]({ secret }), code);
    expect(said.slice(0, words.length)).toBe(words);
  });

  test('create of an image with a plan, and delete', async () => {
    const spec = withProperties(image({ urn: URN }));
    const said = await refused(open().stage.create({ secret, spec }), 'Internal');
    expect(said).toMatch(/^Failed to create image access, Err: invalid tenantID\. /);
    expect(await refused(open().stage.delete({ secret }), 'Internal')).toBe(
      'failed to create ResourceGroup access to process request: [ResourceGroup: rg]',
    );
  });
});

test('a NIC that cannot be read is reported with the original’s text, including capitals', async () => {
  const { stage } = open({}, [failing('^GET networkInterfaces$', 403, 'AuthorizationFailed')]);
  const said = await refused(stage.create(), 'Internal');
  expect(said).toMatch(/^Failed to get NIC: \[ResourceGroup: rg, Name: m-1-nic\], Err: /);
});

describe('data that all machines of a class share', () => {
  const spec = withProperties(image({ urn: URN }));
  const counts = ({ asked }: ReturnType<typeof open>) => [
    asked('GET', '/artifacttypes/').length,
    asked('GET', 'MarketplaceOrdering').length,
    asked('PUT', 'MarketplaceOrdering').length,
  ];

  test('an image and its accepted terms are requested at intervals', async () => {
    const opened = open();
    for (const name of ['m-1', 'm-2', 'm-3', 'm-4']) await opened.stage.create({ spec, name });
    expect(counts(opened)).toEqual([1, 2, 1]);
    await opened.clock.advance(600_000);
    await opened.stage.create({ spec, name: 'm-5' });
    expect(counts(opened)).toEqual([2, 3, 1]);
  });

  test('machines with concurrent requests share an answer, and also a failure', async () => {
    const opened = open({}, [{ ...failing('^GET images$', 403, 'AuthorizationFailed'), times: 1 }]);
    const at3 = ['m-1', 'm-2', 'm-3'];
    const refusals = await Promise.allSettled(at3.map((name) => opened.stage.create({ spec, name })));
    expect(refusals.map(({ status }) => status)).toEqual(at3.map(() => 'rejected'));
    await Promise.all(at3.map((name) => opened.stage.create({ spec, name })));
    expect(counts(opened)[0]).toBe(2);
  });

  test('after a failed creation of a VM, the terms are read again', async () => {
    const opened = open();
    for (const name of ['m-1', 'm-2']) await opened.stage.create({ spec, name });
    opened.cloud.faults.order({ ...failing('^PUT virtualMachines$'), times: 1 });
    await refused(opened.stage.create({ spec, name: 'm-3' }), 'Internal');
    await opened.stage.create({ spec, name: 'm-3' });
    expect(counts(opened)).toEqual([1, 3, 1]);
  });
});

describe('an operation continues after the end of its process', () => {
  /** Simulates a process that is killed one second after it has sent a certain request to Azure. */
  const dieAfter = async (opened: ReturnType<typeof open>, call: 'create' | 'delete', method: string, part: string) => {
    const { stage, asked, clock } = opened;
    const over = new AbortController();
    const dying = stage[call]({ signal: over.signal }).catch(() => undefined);
    await clock.runUntil(() => asked(method, part).length > 0 && opened.cloud.ids().length > 0, { maxMs: 3_600_000 });
    await clock.advance(1_000);
    over.abort(new Error('the process stops'));
    await dying;
    opened.sent.length = 0;
  };
  const DATA = {
    dataDisks: [{ name: 'seed', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } }],
  };

  test('the driver waits for a VM in creation and does not request it again', async () => {
    const opened = open();
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    const { providerId } = await opened.stage.create({ userData: 'another by now' });
    expect([providerId, opened.asked('PUT', '')]).toEqual([ID, []]);
    expect(opened.cloud.resources().map(({ state }) => state)).toEqual(['Succeeded', 'Succeeded', 'Succeeded']);
  });

  test('the driver waits for a NIC and a disk in creation and does not request them again', async () => {
    const nic = open();
    await dieAfter(nic, 'create', 'PUT', '/networkInterfaces/');
    await nic.stage.create();
    expect(nic.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
    const spec = withProperties(storage(DATA));
    const disk = open({}, [], spec);
    await dieAfter(disk, 'create', 'PUT', '/disks/');
    await disk.stage.create();
    expect(disk.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
  });

  test('an operation that fails later because of capacity is reported as such, and nothing is left', async () => {
    const opened = open({}, [
      {
        on: '^PUT virtualMachines$',
        times: 1,
        failOperation: { code: 'AllocationFailed', message: 'full', leave: true },
      },
    ]);
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    await opened.clock.advance(120_000);
    await refused(opened.stage.create(), 'ResourceExhausted', 'full');
    expect([opened.asked('PUT', ''), opened.names()]).toEqual([[], []]);
  });

  test('an operation that fails for another reason is requested again', async () => {
    const opened = open({}, [
      { on: '^PUT virtualMachines$', times: 1, failOperation: { code: 'InternalExecutionError', leave: true } },
    ]);
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    await opened.clock.advance(120_000);
    await opened.stage.create();
    expect(opened.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
  });

  test('a VM that is being deleted is neither changed nor deleted again', async () => {
    const opened = open();
    opened.placeVm({ os: 'Detach', state: 'Succeeded' });
    await dieAfter(opened, 'delete', 'DELETE', '/virtualMachines/');
    await opened.stage.delete();
    expect([opened.asked('PATCH', ''), opened.asked('DELETE', '/virtualMachines/'), opened.names()]).toEqual([
      [],
      [],
      [],
    ]);
  });
});
