import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events, type TransportRequest } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { FakeFailure } from '../driver/testing.ts';
import type { HookAnswer } from '../hooks/webhooks/call.ts';
import type { HookKeys } from '../hooks/webhooks/config.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const KEY = `before-drain.${Annotations.HookSuffix}/save`;

type Script = readonly (string | number | 'hangs')[];

interface Called {
  readonly at: Date;
  readonly body: { readonly stage: string; readonly machine: { readonly name: string } };
  readonly id: string | undefined;
  readonly signature: string | undefined;
}

const ONE_KEY: HookKeys = { read: async () => ({ keys: [new Uint8Array(32)] }) };

type Calls = Record<string, Called[]>;

async function rigWith(
  scripts: Readonly<Record<string, Script>>,
  hooks: string,
  leads = () => true,
  keys = ONE_KEY,
  hasBegun?: (calls: Calls) => boolean,
) {
  const calls: Calls = {};
  const outcomes: [string, HookAnswer['is']][] = [];
  const answers = (name: string) => async (request: TransportRequest) => {
    const all = calls[name] ?? [];
    calls[name] = all;
    const script = scripts[name] ?? [];
    const answer = script[Math.min(all.length, script.length - 1)] ?? 500;
    all.push({
      at: rig.clock.now(),
      body: JSON.parse(request.body ?? ''),
      id: request.headers['webhook-id'],
      signature: request.headers['webhook-signature'],
    });
    if (answer === 'hangs')
      await new Promise((_, reject) => {
        request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
      });
    const [status, text] = typeof answer === 'number' ? [answer, ''] : [200, answer];
    return { status, headers: { get: () => null }, text: async () => text.toString(), body: null };
  };
  const webhooks = Object.keys(scripts).map((name) => ({
    name,
    url: new URL(`https://${name}.example.org/hooks`),
    ca: undefined,
    keys,
    timeoutMs: 10 * SECOND,
  }));
  const hookWebhooks = {
    webhooks,
    connect: ({ name }: { readonly name: string }) => answers(name),
    observe: (name: string, outcome: HookAnswer['is']) => void outcomes.push([name, outcome]),
  };
  const confirm = async (): Promise<void> => {
    if (!leads()) throw new Error('another process is the leader');
  };
  const rig: Rig = await startRig({ eventTtlMs: 0, controller: { hookWebhooks, fence: { confirm, held: confirm } } });
  await rig.admin
    .resource<MachineClass>(machineClasses, NAMESPACE)
    .patch('small', { type: 'merge', body: { metadata: { annotations: { [Annotations.Hooks]: hooks } } } });
  await rig.createMachine('m-0');
  await rig.until(async () => hasBegun?.(calls) ?? (await rig.phase('m-0')) === 'Running', 10 * MINUTE);
  return { rig, calls, outcomes };
}

const gone = (rig: Rig) => rig.until(async () => (await rig.machines()).length === 0, 30 * MINUTE);
const reported = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'HookCallFailed')
    .map(({ message = '' }) => message);

test('the webhook that owns a hook gets calls until it has finished', async () => {
  const script = ['{"done":false,"retryAfterSeconds":7}', '{"done":false}', '{"done":true}'];
  const { rig, calls, outcomes } = await rigWith({ backup: script }, 'before-drain save backup 30m Block');
  expect(calls.backup).toBeUndefined();
  await rig.deleteMachine('m-0');
  await gone(rig);
  const [first, second, third, ...rest] = calls.backup ?? [];
  expect(rest).toEqual([]);
  expect(first?.body).toMatchObject({ stage: 'before-drain', machine: { name: 'm-0' } });
  expect(new Set([first?.id, second?.id, third?.id]).size).toBe(1);
  const between = (a: Called | undefined, b: Called | undefined) => (b?.at.getTime() ?? 0) - (a?.at.getTime() ?? 0);
  expect([between(first, second), between(second, third)]).toEqual([7 * SECOND, 30 * SECOND]);
  expect(outcomes.map(([, outcome]) => outcome)).toEqual(['waits', 'waits', 'finished']);
});

test('after failed calls the machine waits, and the next calls are at most five minutes apart', async () => {
  const { rig, calls } = await rigWith({ backup: [500] }, 'before-drain save backup 10m Block');
  await rig.deleteMachine('m-0');
  await rig.clock.advance(60 * MINUTE);
  expect((await rig.machine('m-0'))?.metadata.annotations?.[KEY]).toBe('backup');
  const times = (calls.backup ?? []).map(({ at }) => at.getTime());
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(3 * SECOND);
  expect(Math.max(...waits)).toBeLessThanOrEqual(5 * MINUTE);
  expect(times.length).toBeLessThan(30);
  expect(await reported(rig)).toContainEqual(
    'Webhook of backup for before-drain hook save failed: the webhook responded with status 500. mcm retries',
  );
});

test('a hook with Continue ends after its timeout, although the webhook never answers', async () => {
  const { rig, calls } = await rigWith({ backup: ['hangs'] }, 'before-drain save backup 2m Continue');
  await rig.deleteMachine('m-0');
  await gone(rig);
  const count = calls.backup?.length ?? 0;
  expect(count).toBeGreaterThan(1);
  await rig.clock.advance(10 * MINUTE);
  expect(calls.backup?.length).toBe(count);
});

test('a webhook gets only calls for hooks that it owns, and for the current stage', async () => {
  const hooks = 'after-ready warm other 5m Block; before-drain save backup 5m Continue';
  const { rig, calls } = await rigWith({ backup: ['{"done":true}'], other: ['{"done":true}'] }, hooks);
  await rig.deleteMachine('m-0');
  await gone(rig);
  expect(calls.other?.map(({ body }) => body.stage)).toEqual(['after-ready']);
  expect(calls.backup?.map(({ body }) => body.stage)).toEqual(['before-drain']);
});

test('the label force-deletion ends the calls, although the VM still exists', async () => {
  const { rig, calls } = await rigWith({ backup: [500] }, 'before-drain save backup 1h Block');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (calls.backup?.length ?? 0) > 0, MINUTE);
  rig.cloud.fail('delete', ...Array<FakeFailure>(1000).fill({ code: 'Internal' }));
  const body = { metadata: { labels: { 'force-deletion': 'true' } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  const count = calls.backup?.length;
  await rig.clock.advance(30 * MINUTE);
  expect([(await rig.machines()).length, calls.backup?.length]).toEqual([1, count]);
});

test('a new process calls the webhook again, and one that is not the leader does not call it', async () => {
  let leads = true;
  const script = { backup: ['{"done":false}'] };
  const { rig, calls } = await rigWith(script, 'before-drain save backup 1h Block', () => leads);
  await rig.deleteMachine('m-0');
  await rig.until(async () => calls.backup?.length === 1, MINUTE);
  await rig.kill();
  rig.start();
  await rig.until(async () => calls.backup?.length === 2, MINUTE);
  await rig.kill();
  leads = false;
  rig.start();
  await rig.clock.advance(10 * MINUTE);
  expect(calls.backup?.length).toBe(2);
});

test('a rotation of the keys needs no restart, and an invalid key file is reported once', async () => {
  const [old, fresh] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const files = [{ keys: [old] }, { keys: [fresh, old] }, { keys: [fresh], problem: 'broken' }];
  let reads = 0;
  const keys: HookKeys = { read: async () => files[Math.min(reads++, files.length - 1)] ?? { keys: [] } };
  const script = [...Array<string>(3).fill('{"done":false}'), '{"done":true}'];
  const { rig, calls } = await rigWith({ backup: script }, 'before-drain save backup 30m Block', () => true, keys);
  await rig.deleteMachine('m-0');
  await gone(rig);
  const signatures = (calls.backup ?? []).map(({ signature = '' }) => signature.split(' ').length);
  expect(signatures).toEqual([1, 2, 1, 1]);
  const warnings = rig.log.lines.filter(({ message }) => message.startsWith('Cannot read the keys of a webhook'));
  expect(warnings.map(({ fields }) => fields)).toEqual([{ webhook: 'backup', problem: 'broken' }]);
});

const after = (all: readonly Called[] = [], index: number): number =>
  (all[index]?.at.getTime() ?? 0) - (all[index - 1]?.at.getTime() ?? 0);

test('a hook of a machine that changed during the call stays, and the webhook gets another call', async () => {
  let reads = 0;
  const keys: HookKeys = {
    read: async () => {
      const body = { metadata: { annotations: { changed: 'during the call' } } };
      if (reads++ === 0) await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
      return { keys: [new Uint8Array(32)] };
    },
  };
  const hook = 'before-drain save backup 30m Block';
  const { rig, calls } = await rigWith({ backup: ['{"done":true}'] }, hook, () => true, keys);
  await rig.deleteMachine('m-0');
  await gone(rig);
  expect(calls.backup).toHaveLength(2);
});

test('a machine that is being deleted gets no calls for earlier stages', async () => {
  const hooks = 'after-ready warm other 1h Block; before-drain save backup 1h Block';
  const waits = ['{"done":false}'];
  const hasBegun = ({ other = [] }: Calls): boolean => other.length > 0;
  const { rig, calls } = await rigWith({ backup: waits, other: waits }, hooks, () => true, ONE_KEY, hasBegun);
  await rig.deleteMachine('m-0');
  await rig.until(async () => (calls.backup?.length ?? 0) > 0, MINUTE);
  const count = calls.other?.length;
  await rig.clock.advance(10 * MINUTE);
  expect(calls.other?.length).toBe(count);
  expect(calls.backup?.length).toBeGreaterThan(10);
});

test('a webhook delays its next call by at most five minutes and at least one second', async () => {
  const script = [
    '{"done":false,"retryAfterSeconds":86400}',
    '{"done":false,"retryAfterSeconds":0.001}',
    '{"done":true}',
  ];
  const { rig, calls } = await rigWith({ backup: script }, 'before-drain save backup 1h Block');
  await rig.deleteMachine('m-0');
  await gone(rig);
  expect([after(calls.backup, 1), after(calls.backup, 2)]).toEqual([5 * MINUTE, SECOND]);
});

test('after a valid response, the next failure is retried soon', async () => {
  const failures = Array<number>(8).fill(500);
  const script = [...failures, '{"done":false,"retryAfterSeconds":1}', 500, '{"done":true}'];
  const { rig, calls } = await rigWith({ backup: script }, 'before-drain save backup 3h Block');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.machines()).length === 0, 180 * MINUTE);
  expect(after(calls.backup, failures.length)).toBeGreaterThan(2 * MINUTE);
  expect(after(calls.backup, failures.length + 2)).toBeLessThan(10 * SECOND);
});
