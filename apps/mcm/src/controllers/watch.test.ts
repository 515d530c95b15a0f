import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  handlerTransport,
  type Lease,
  leases,
  seededRandom,
  silentLogger,
  VirtualClock,
} from '@mcm/kube';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { notActing } from './health.ts';
import { ControllerWatch } from './watch.ts';

const NAME = 'machine-controller-manager';
const NONE = { deployments: [], machines: [] };

let clock: VirtualClock;
let plane: ControlPlane;
let failure: (() => Promise<Response>) | undefined;
let interrupted: AbortController;
/** If `hangs` is true, the API server accepts requests but does not respond. */
let hangs: boolean;
const untilAborted = (signal: AbortSignal): Promise<Response> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
const client = () =>
  createClient({
    transport: handlerTransport((call) => {
      const asksLeases = call.url.includes('/leases') && call.headers.get('user-agent') !== 'holder';
      if (failure !== undefined && asksLeases) return failure();
      if (hangs && call.headers.get('user-agent') !== 'holder') return untilAborted(call.signal);
      const signal = AbortSignal.any([call.signal, interrupted.signal]);
      return plane.fetch(asksLeases ? new Request(call, { signal }) : call);
    }),
    userAgent: 'test',
    clock,
  });
const holder = (namespace: string) =>
  createClient({ transport: plane.transport, userAgent: 'holder', clock }).resource<Lease>(leases, namespace);
const time = (): string => clock.now().toISOString().replace('Z', '000Z');

beforeEach(async () => {
  clock = new VirtualClock();
  failure = undefined;
  hangs = false;
  interrupted = new AbortController();
  plane = await startControlPlane({ clock, controllers: false });
  onTestFinished(() => plane.close());
  await holder('default').create({
    metadata: { name: NAME },
    spec: { holderIdentity: 'host_1', leaseDurationSeconds: 15, renewTime: time() },
  });
});

function watch(namespace: string | undefined = 'default', startingMs = 0): ControllerWatch {
  const end = new AbortController();
  onTestFinished(() => end.abort(new Error('the test is over')));
  const runtime = { clock, random: seededRandom(1), log: silentLogger };
  const made = new ControllerWatch({
    ...runtime,
    client: client(),
    namespace,
    signal: end.signal,
    onChange: () => undefined,
    startingMs,
  });
  made.run();
  return made;
}

async function pass(made: ControllerWatch, seconds: number, acts: boolean): Promise<readonly string[]> {
  const stopped = new Set<string>();
  for (let second = 0; second < seconds; second += 2) {
    if (acts) await holder('default').patch(NAME, { type: 'merge', body: { spec: { renewTime: time() } } });
    await clock.advance(2_000);
    for (const { name } of notActing(made.assess('default', NONE))) stopped.add(name);
  }
  return [...stopped];
}

describe('a watch of controllers', () => {
  test('a holder that stops is reported after its lease duration, without an event', async () => {
    const made = watch();
    expect(await pass(made, 60, true)).toEqual([]);
    expect(await pass(made, 12, false)).toEqual([]);
    expect(await pass(made, 8, false)).toEqual([NAME]);
    await pass(made, 2, true);
    expect(await pass(made, 20, true)).toEqual([]);
  });

  test('controllers that are starting do not count as stopped', async () => {
    await clock.advance(60_000);
    const made = watch('default', 20_000);
    expect(await pass(made, 18, false)).toEqual([]);
    expect(await pass(made, 4, false)).toEqual([NAME]);
  });

  test('a controller that has started since the watch and then stops is reported while others may still be starting', async () => {
    const made = watch('default', 60_000);
    expect(await pass(made, 4, true)).toEqual([]);
    expect(await pass(made, 12, false)).toEqual([]);
    expect(await pass(made, 8, false)).toEqual([NAME]);
  });

  test('after an outage of the API server, no controller counts as stopped until its holder had time to renew', async () => {
    const made = watch();
    await pass(made, 10, true);
    failure = () => Promise.reject(new Error('connect ECONNREFUSED'));
    interrupted.abort(new Error('the server has gone'));
    expect(await pass(made, 120, false)).toEqual([]);
    failure = undefined;
    interrupted = new AbortController();
    expect(await pass(made, 12, false)).toEqual([]);
    expect(await pass(made, 30, true)).toEqual([]);
    expect(await pass(made, 40, false)).toEqual([NAME]);
  });

  test('if the API server hangs, the control plane is reported instead of the controllers', async () => {
    const made = watch();
    await pass(made, 10, true);
    const since = clock.now().toISOString();
    hangs = true;
    expect(await pass(made, 60, false)).toEqual(['control-plane']);
    expect(made.assess('default', NONE)).toMatchObject([
      { name: 'control-plane', state: 'stopped', since, reason: 'the API server does not respond' },
    ]);
    hangs = false;
    await pass(made, 4, false);
    expect(await pass(made, 10, false)).toEqual([]);
    expect(await pass(made, 30, true)).toEqual([]);
    expect(await pass(made, 40, false)).toEqual([NAME]);
  });

  test('if the user cannot read Leases, the state is unknown', async () => {
    const message = 'leases.coordination.k8s.io is forbidden: User "eve" cannot list resource "leases"';
    const status = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message };
    failure = async () => Response.json(status, { status: 403 });
    const made = watch();
    await pass(made, 10, false);
    const health = made.assess('default', NONE).find(({ name }) => name === NAME);
    expect(health).toMatchObject({ state: 'unknown', reason: expect.stringContaining('no permission to read') });
  });

  test('of all namespaces, only Leases of controllers are read', async () => {
    await holder('default').create({ metadata: { name: 'node-1' }, spec: { holderIdentity: 'kubelet' } });
    await holder('kube-system').create({ metadata: { name: 'node-2' }, spec: { holderIdentity: 'kubelet' } });
    const made = watch(undefined);
    await clock.advance(2_000);
    expect([...made.namespaces()]).toEqual(['default']);
  });
});
