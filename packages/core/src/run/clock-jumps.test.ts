import { Annotations, type Machine, machines } from '@mcm/api';
import { pods, sleep, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { powerOf } from '../warm/warm-machine.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  return startRig(options);
}

test.each([
  ['Internal', 3 * MINUTE],
  ['ResourceExhausted', 10 * MINUTE],
] as const)('a clock that is set back by a day does not delay the retry of a creation after %s', async (code, ms) => {
  const rig = await started();
  rig.cloud.fail('create', { code, message: 'not now' });
  await rig.createMachine('m', { creationTimeout: '3h' });
  await rig.until(async () => (await rig.phase('m')) === 'CrashLoopBackOff', MINUTE);
  rig.clock.jump(-DAY);
  await rig.clock.advance(1_000);
  await rig.until(async () => (await rig.phase('m')) === 'Running', ms + 10_000);
});

test('a clock that is set back by a day does not delay the retry of a deletion', async () => {
  const rig = await started();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  rig.cloud.fail('delete', { code: 'Internal', message: 'not now' });
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.description('m')).includes('not now'), MINUTE);
  rig.clock.jump(-DAY);
  await rig.until(async () => (await rig.machine('m')) === undefined, 10 * MINUTE + 10_000);
});

test.each([DAY, -DAY])(
  'a clock that is set by %i ms between two listings neither deletes an orphan at once nor keeps it forever',
  async (jump) => {
    const rig = await started();
    await rig.createMachine('m');
    await rig.until(async () => (await rig.phase('m')) === 'Running');
    const orphan = rig.cloud.plant('nobody', new Date(rig.clock.now().getTime() - 2 * DAY).toISOString());
    await rig.until(async () => rig.cloud.calls.list > 0, HOUR);
    await rig.clock.advance(1_000);
    const seenAt = rig.clock.monotonic();
    rig.clock.jump(jump);
    await rig.until(async () => !rig.cloud.vms.includes(orphan), 2 * HOUR);
    expect(rig.clock.monotonic() - seenAt).toBeGreaterThanOrEqual(HOUR);
    expect(await rig.phase('m')).toBe('Running');
  },
);

test('a clock that is set back during a stop or a start of a warm machine does not repeat the call forever', async () => {
  const jumps = new Set(['stop', 'start']);
  const rig: Rig = await started({
    cloud: {
      stops: true,
      gate: async (method, point) => {
        if (point === 'before' || (method !== 'stop' && method !== 'start')) return;
        if (jumps.delete(method)) rig.clock.jump(-HOUR);
        await sleep(rig.clock, 1_000);
      },
    },
  });
  await rig.createMachine('m', {}, { annotations: { [Annotations.WarmState]: 'Stopped' } });
  const power = async () => {
    const machine = await rig.machine('m');
    return machine && powerOf(machine)?.is;
  };
  await rig.until(async () => (await power()) === 'Stopped', 10 * MINUTE);
  const annotations = { [Annotations.WarmState]: null };
  await rig.admin
    .resource<Machine>(machines, NAMESPACE)
    .patch('m', { type: 'merge', body: { metadata: { annotations } } });
  await rig.until(async () => rig.cloud.vms[0]?.stopped === false, 10 * MINUTE);
  await rig.clock.advance(10 * MINUTE);
  const { stop, start } = rig.cloud.calls;
  expect(Math.max(stop, start)).toBeLessThanOrEqual(2);
});

test.each([500, 429])(
  'a clock that is set back by a day does not delay an eviction after a response %i',
  async (code) => {
    let refusals = 1;
    const wrap =
      (transport: Transport): Transport =>
      async (request) =>
        request.method === 'POST' && request.path.endsWith('/eviction') && refusals-- > 0
          ? Response.json({ kind: 'Status', code, message: 'not now' }, { status: code })
          : transport(request);
    const rig = await started({ wrap });
    await rig.createMachine('m');
    await rig.until(async () => (await rig.phase('m')) === 'Running');
    await rig.createPod('web', 'm');
    await rig.deleteMachine('m');
    await rig.until(async () => refusals <= 0, MINUTE);
    await rig.clock.advance(1_000);
    rig.clock.jump(-DAY);
    const isLeaving = async () =>
      (await rig.admin.resource(pods, NAMESPACE).get('web')).metadata.deletionTimestamp !== undefined;
    await rig.until(isLeaving, 5 * MINUTE);
  },
);

test('a clock that is set back by a day does not delay the report of an unhealthy Node', async () => {
  const rig = await started();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  const ready = (status: 'True' | 'False') => rig.conditions('m', [{ type: 'Ready', status, reason: 'Test' }]);
  await ready('False');
  await rig.until(async () => (await rig.phase('m')) === 'Unknown', MINUTE);
  await ready('True');
  await rig.until(async () => (await rig.phase('m')) === 'Running', MINUTE);
  rig.clock.jump(-DAY);
  await ready('False');
  await rig.until(async () => (await rig.phase('m')) === 'Unknown', 5 * MINUTE);
});
