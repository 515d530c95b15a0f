import { createClient, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { planDrain } from '../drain.ts';
import { explainDrain } from '../explain.ts';
import { type Attempt, type DrainObservation, NO_DRAIN_MEMORY, type Responder } from '../model/observation.ts';
import { budget, later, look, MINUTE, pod, withVolume } from '../testing.ts';
import { EvictionApi } from './eviction-api.ts';

const served = { requests: 'served' } as const;
const names = (pods: readonly { readonly name: string }[]): string => pods.map(({ name }) => name).join(' ');

const asked = (at: number): Attempt => ({
  at: later(at),
  result: 'asked',
  message: '',
  count: 1,
  budgets: '',
  requested: true,
});

interface Known {
  readonly uid?: string;
  readonly responder?: Partial<Responder>;
  readonly readAt?: number;
}

function memory({ uid = 'uid-a', responder, readAt }: Known = {}): DrainObservation['memory'] {
  const responders = new Map(responder ? [[uid, { failed: false, ...responder }]] : []);
  const read = readAt === undefined ? {} : { responders, respondersAt: later(readAt) };
  return { ...NO_DRAIN_MEMORY, attempts: new Map([[uid, asked(0)]]), ...read };
}

const plan = (known: Known, ms: number, change: Partial<DrainObservation> = {}) =>
  planDrain(look([pod('a', change.pods?.[0])], { ...served, memory: memory(known), ...change }), later(ms));

test('a pod whose budget allows no disruption is requested, but one with volumes is not', () => {
  const pods = [pod('web', { budgets: [budget()] }), withVolume('db', { budgets: [budget({ key: 'default/db' })] })];
  expect(names(planDrain(look(pods, served), later(0)).evict)).toBe('web');
  expect(names(planDrain(look(pods), later(0)).evict)).toBe('');
  expect(names(planDrain(look(pods, { ...served, urgent: true }), later(0)).evict)).toBe('');
});

test('pods with volumes are requested one after the other', () => {
  const pods = [withVolume('a'), withVolume('b')];
  expect(names(planDrain(look(pods, served), later(0)).evict)).toBe('a');
  const moves = new Map([
    ['uid-a', { pod: { namespace: 'default', name: 'a', uid: 'uid-a' }, volumes: ['pv-a'], returns: true }],
  ]);
  const waiting = look(pods, { ...served, memory: { ...memory(), moves } });
  expect(names(planDrain(waiting, later(29_000)).evict)).toBe('');
});

test.each<[what: string, known: Known, ms: number, evicts: string, reads: true | undefined, next: number | undefined]>([
  ['at first it waits', {}, 1_000, '', undefined, 10_000],
  ['after ten seconds its Eviction is read', {}, 10_000, '', true, 10_000],
  ['without an Eviction it waits until the second read', { readAt: 10_000 }, 29_000, '', undefined, 30_000],
  ['then the Evictions are read again', { readAt: 10_000 }, 30_000, '', true, 30_000],
  ['without an Eviction after 30 seconds it is evicted', { readAt: 30_000 }, 30_000, 'a', undefined, undefined],
  [
    'with a responder it waits, and reads every 20 seconds',
    { readAt: 600_000, responder: { name: 'x/y' } },
    610_000,
    '',
    undefined,
    620_000,
  ],
  [
    'if its Eviction failed, it is evicted',
    { readAt: 10_000, responder: { failed: true } },
    11_000,
    'a',
    undefined,
    undefined,
  ],
])('a requested pod: %s', (_what, known, ms, evicts, reads, next) => {
  const made = plan(known, ms);
  expect([names(made.evict), made.readsResponders]).toEqual([evicts, reads]);
  if (next !== undefined) expect(made.lookAgainAt).toEqual(later(next));
});

test('the wait names the responder, and the hint is its report', () => {
  const responder = { name: 'app.example/backup', message: 'half done' };
  const o = look([pod('a')], { ...served, memory: memory({ readAt: 10_000, responder }) });
  expect(planDrain(o, later(11_000)).blockers).toMatchObject([
    {
      text: 'pod default/a waits for the eviction responder app.example/backup',
      hint: 'the responder reports: half done',
      failed: false,
      pods: ['default/a'],
    },
  ]);
  expect(explainDrain(o, later(11_000)).pods[0]).toMatchObject({
    fate: 'blocked',
    because: 'pod default/a waits for the eviction responder app.example/backup',
  });
});

test('a requested pod that terminates needs no read, and the eviction timeout deletes a pod that does not', () => {
  const leaving = look([pod('a', { dueAt: later(60_000) })], { ...served, memory: memory() });
  expect(planDrain(leaving, later(30_000)).readsResponders).toBeUndefined();
  const known = { readAt: 10_000, responder: { name: 'x/y' } };
  expect(names(plan(known, 60 * MINUTE).remove)).toBe('a');
});

test('after the timeout with policy Quarantine, no pod is requested', () => {
  const o = look([pod('a')], { ...served, policy: 'Quarantine' });
  expect(names(planDrain(o, later(0)).evict)).toBe('a');
  expect(planDrain(o, later(120 * MINUTE))).toMatchObject({ undrained: 'Quarantine' });
});

const clientOf = (transport: Transport) =>
  createClient({ transport, userAgent: 't', clock: new VirtualClock(), random: seededRandom(1) });

test('discovery is read once in an hour, and both kinds must be served', async () => {
  let [served_, reads] = [['evictionrequests', 'evictions'], 0];
  const transport: Transport = async () => {
    reads++;
    return Response.json({ resources: served_.map((name) => ({ name })) });
  };
  const api = new EvictionApi(clientOf(transport));
  const find = async (ms: number) => {
    await api.find({ now: later(ms), signal: new AbortController().signal });
    return api.state(later(ms));
  };
  expect(api.state(later(0))).toBe('unknown');
  expect(await find(0)).toBe('served');
  expect([api.state(later(59 * MINUTE)), api.state(later(60 * MINUTE))]).toEqual(['served', 'unknown']);
  served_ = ['evictionrequests'];
  expect([await find(60 * MINUTE), reads]).toEqual([undefined, 2]);
  expect(new EvictionApi(undefined).state(later(0))).toBeUndefined();
});

test.each([429, 500, 503])('a response %i to the discovery does not show that the API is missing', async (code) => {
  let status = code;
  const transport: Transport = async () =>
    Response.json({ resources: ['evictionrequests', 'evictions'].map((name) => ({ name })) }, { status });
  const api = new EvictionApi(clientOf(transport));
  const find = () => api.find({ now: later(0), signal: new AbortController().signal });
  await expect(find()).rejects.toThrow();
  expect(api.state(later(0))).toBe('unknown');
  status = 200;
  await find();
  expect(api.state(later(0))).toBe('served');
});

test('drains at the same time share one list of Evictions, and a lost answer is not kept', async () => {
  let [lost, lists] = [true, 0];
  const eviction = (uid: string, failed: boolean) => ({
    metadata: { name: `${uid}-${failed}` },
    spec: { target: { pod: { name: 'a', uid } } },
    status: { conditions: [{ type: 'Failed', status: failed ? 'True' : 'False' }] },
  });
  const transport: Transport = async () => {
    lists++;
    if (lost) throw new Error('socket hang up');
    const items = [eviction('u1', true), eviction('u1', false), eviction('u2', false), eviction('u2', true)];
    return Response.json({ kind: 'EvictionList', metadata: { resourceVersion: '1' }, items });
  };
  const api = new EvictionApi(clientOf(transport));
  const read = (ms: number) => api.read({ now: later(ms), signal: new AbortController().signal });
  await expect(read(0)).rejects.toThrow();
  [lost, lists] = [false, 0];
  const [one, other] = await Promise.all([read(1), read(2)]);
  expect([one.get('u1')?.failed, other.get('u2')?.failed, lists]).toEqual([false, false, 1]);
  await read(5_001);
  expect(lists).toBe(2);
  await read(-60 * MINUTE);
  expect(lists).toBe(3);
});
