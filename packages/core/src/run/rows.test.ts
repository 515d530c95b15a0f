import { Labels, machines } from '@mcm/api';
import { nodes, pods, type Transport } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function started(names: readonly string[], options: Partial<RigOptions> = {}): Promise<Rig> {
  const rig = await startRig(options);
  for (const name of names) await rig.createMachine(name, {}, { labels: { [Labels.DeploymentName]: 'd1' } });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  return rig;
}

function nodeWrites() {
  const state = { refused: false, count: 0 };
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (request.method !== 'PATCH' || !request.path.startsWith('/api/v1/nodes/')) return transport(request);
      state.count++;
      if (!state.refused) return transport(request);
      const body = { kind: 'Status', status: 'Failure', reason: 'InternalError', code: 500 };
      return Response.json({ ...body, message: 'Failed to update node' }, { status: 500 });
    };
  return { state, wrap };
}

const ready = (status: 'True' | 'False' | 'Unknown', since: string) => [
  { type: 'Ready', status, reason: 'Test', lastTransitionTime: since },
];

const gone = (rig: Rig) => async (): Promise<boolean> => (await rig.machines()).length === 0;

describe('the cordon', () => {
  test('the Node disappears before the cordon: no error, and the machine is deleted [S-CO1]', async () => {
    let answer = 0;
    const wrap =
      (transport: Transport): Transport =>
      async (request) => {
        const cordons = request.method === 'PATCH' && String(request.body).includes('"unschedulable":true');
        if (!cordons) return transport(request);
        const body = { metadata: { finalizers: null } };
        await rig.admin.resource(nodes).patch('m-0', { type: 'merge', body });
        await rig.admin.resource(nodes).delete('m-0');
        const response = await transport(request);
        answer = response.status;
        return response;
      };
    const rig: Rig = await started(['m-0'], { wrap });
    await rig.deleteMachine('m-0');
    await rig.until(gone(rig), MINUTE);
    expect(answer).toBe(404);
    expect(rig.cloud.vms).toEqual([]);
    expect(rig.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('a node is cordoned before its pods are evicted [S-CO2]', async () => {
    const rig = await started(['m-0']);
    await rig.createPod('a', 'm-0');
    expect((await rig.nodes())[0]?.spec.unschedulable).toBeUndefined();
    await rig.deleteMachine('m-0');
    await rig.until(
      async () => (await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp !== undefined,
    );
    expect((await rig.nodes())[0]?.spec.unschedulable).toBe(true);
  });

  test('a cordoned node with its reason is not written again [S-CO3]', async () => {
    const { state, wrap } = nodeWrites();
    const rig = await started(['m-0'], { wrap });
    await rig.createPod('a', 'm-0');
    await rig.kill();
    await rig.admin.resource(nodes).patch('m-0', { type: 'merge', body: { spec: { unschedulable: true } } });
    const body = { status: { conditions: [{ type: 'Terminating', status: 'True', reason: 'ScaleDown' }] } };
    await rig.admin.resource(nodes).patch('m-0', { type: 'strategic', body }, { subresource: 'status' });
    state.count = 0;
    await rig.deleteMachine('m-0');
    rig.start();
    await rig.clock.advance(MINUTE);
    expect((await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp).toBeDefined();
    expect(state.count).toBe(0);
  });
});

describe('a deletion while updates of the node fail', () => {
  const refusing = async (labels: Record<string, string> = {}) => {
    const { state, wrap } = nodeWrites();
    const rig = await started(['m-0'], { wrap });
    await rig.createPod('a', 'm-0');
    state.refused = true;
    const client = rig.admin.resource(machines, NAMESPACE);
    await client.patch('m-0', { type: 'merge', body: { metadata: { labels } } });
    await rig.deleteMachine('m-0');
    return { rig, state };
  };

  test('a forced deletion deletes the VM, and the machine when its Node can be written [S-D11]', async () => {
    const { rig, state } = await refusing({ 'force-deletion': 'True' });
    await rig.until(async () => rig.cloud.vms.length === 0, MINUTE);
    expect(await rig.podNames()).toEqual([]);
    state.refused = false;
    await rig.until(gone(rig), 15 * MINUTE);
  });

  test('the deletion of a machine that was deleted three hours ago continues as if forced [S-D13]', async () => {
    const { rig } = await refusing();
    await rig.clock.advance(HOUR);
    expect(rig.cloud.vms).toHaveLength(1);
    await rig.clock.advance(2 * HOUR);
    expect(rig.cloud.vms).toEqual([]);
    expect(await rig.podNames()).toEqual([]);
  });

  test('no pod is evicted from a node that cannot be cordoned; the status has the reason, and the deletion continues later [S-D14]', async () => {
    const { rig, state } = await refusing();
    await rig.until(async () => (await rig.machine('m-0'))?.status?.lastOperation?.state === 'Failed', MINUTE);
    expect((await rig.machine('m-0'))?.status?.lastOperation).toMatchObject({
      description: expect.stringMatching(
        /^Drain failed due to failure in update of node conditions - .*Failed to update node.*\. Will retry in next sync\. Initiate node drain$/,
      ),
      type: 'Delete',
    });
    await rig.clock.advance(10 * MINUTE);
    expect((await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp).toBeUndefined();
    expect(rig.cloud.vms).toHaveLength(1);
    state.refused = false;
    await rig.until(
      async () => (await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp !== undefined,
      20 * MINUTE,
    );
  });
});

describe('the drain of a node with an in-place update', () => {
  async function selected(conditions: (rig: Rig) => readonly object[], labels: Record<string, string> = {}) {
    const reasons: string[] = [];
    const wrap =
      (transport: Transport): Transport =>
      (request) => {
        const text = String(request.body);
        const reason = /"type":"InPlaceUpdate"/.test(text) ? /"reason":"(\w+)"/.exec(text)?.[1] : undefined;
        if (reason && request.path.startsWith('/api/v1/nodes/')) reasons.push(reason);
        return transport(request);
      };
    const rig = await started(['m-0'], { wrap });
    await rig.createPod('a', 'm-0');
    await rig.conditions('m-0', conditions(rig));
    await rig.clock.advance(2_000);
    const client = rig.admin.resource(machines, NAMESPACE);
    await client.patch('m-0', { type: 'merge', body: { metadata: { labels } } });
    const chosen = { [Labels.CandidateForUpdate]: 'true', [Labels.SelectedForUpdate]: 'true' };
    await rig.admin.resource(nodes).patch('m-0', { type: 'merge', body: { metadata: { labels: chosen } } });
    await rig.until(async () => reasons.includes('SelectedForUpdate'), MINUTE);
    return { rig, reasons };
  }
  const ago = (rig: Rig, minutes: number): string =>
    new Date(rig.clock.now().getTime() - minutes * MINUTE).toISOString();
  const done = ['CandidateForUpdate', 'SelectedForUpdate', 'DrainSuccessful', 'ReadyForUpdate'];

  test('an ordinary pod is evicted and awaited, then the condition has DrainSuccessful [S-I21]', async () => {
    const { rig, reasons } = await selected((r) => ready('True', ago(r, 10)));
    await rig.clock.advance(5_000);
    const client = rig.admin.resource(pods, NAMESPACE);
    expect((await client.get('a')).metadata.deletionTimestamp).toBeDefined();
    expect(reasons).not.toContain('DrainSuccessful');
    await client.delete('a', { gracePeriodSeconds: 0 });
    await rig.until(async () => reasons.length === done.length, MINUTE);
    expect(reasons).toEqual(done);
    expect(await rig.phase('m-0')).toBe('InPlaceUpdating');
  });

  test.each<[what: string, conditions: (rig: Rig) => readonly object[], labels?: Record<string, string>]>([
    ['Ready False for 10 min', (rig) => ready('False', ago(rig, 10))],
    [
      'ReadonlyFilesystem True for 10 min',
      (rig) => [
        ...ready('True', ago(rig, 10)),
        { type: 'ReadonlyFilesystem', status: 'True', reason: 'Test', lastTransitionTime: ago(rig, 10) },
      ],
    ],
    ['force-drain=True', (rig) => ready('True', ago(rig, 10)), { [Labels.ForceDrain]: 'True' }],
  ])(
    'S-I21 %s: the pod is deleted without grace, then the condition says DrainSuccessful',
    async (_, conditions, labels) => {
      const { rig, reasons } = await selected(conditions, labels);
      await rig.until(async () => reasons.includes('DrainSuccessful'), MINUTE);
      expect(await rig.podNames()).toEqual([]);
      expect(reasons.slice(0, 3)).toEqual(done.slice(0, 3));
    },
  );
});

test('of two machines of a deployment with one timeout, only one is marked Failed, before the cache shows it [S-PM1]', async () => {
  const names = ['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5'];
  let slow = false;
  const marked: string[] = [];
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (slow && request.method !== 'GET' && String(request.body).includes('"phase":"Failed"')) {
        marked.push(request.path);
        await new Promise<void>((resolve) => rig.clock.setTimeout(resolve, 20_000));
      }
      return transport(request);
    };
  const rig = await started(names, { wrap });
  slow = true;
  for (const name of names.slice(0, 2)) await rig.conditions(name, ready('Unknown', rig.clock.now().toISOString()));
  await rig.until(async () => marked.length > 0, HOUR);
  await rig.clock.advance(10_000);
  expect(marked).toHaveLength(1);
  slow = false;
  await rig.clock.advance(20_000);
  expect((await rig.machines()).filter((m) => m.status?.currentStatus?.phase === 'Failed')).toHaveLength(1);
});

test('a stopped controller marks no machine [S-PM2]', async () => {
  const rig = await started(['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5']);
  await rig.conditions('m-0', ready('Unknown', rig.clock.now().toISOString()));
  await rig.until(async () => (await rig.phase('m-0')) === 'Unknown', MINUTE);
  await rig.kill();
  await rig.clock.advance(HOUR);
  expect(await rig.phase('m-0')).toBe('Unknown');
  rig.start();
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed', MINUTE);
});
