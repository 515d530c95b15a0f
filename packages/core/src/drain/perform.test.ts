import { createClient, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { forcedKey } from './drain.ts';
import { NO_DRAIN_MEMORY } from './model/observation.ts';
import { deletePods, evictPods } from './perform.ts';
import { budget, later, look, pod as podOf, withVolume } from './testing.ts';

const status = (code: number, reason: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
    { status: code },
  );

test('refusals of one kind are counted in a row, another answer resets the count, and an evicted pod starts the move of its volumes', async () => {
  const answers = [
    () => status(429, 'TooManyRequests'),
    () => status(429, 'TooManyRequests'),
    () => status(500, 'InternalError'),
    () => Response.json({ kind: 'Status', status: 'Success' }, { status: 201 }),
  ];
  const transport: Transport = async () => answers.shift()?.() ?? status(404, 'NotFound');
  const client = createClient({ transport, userAgent: 't', clock: new VirtualClock(), random: seededRandom(1) });
  const pod = withVolume('db');
  const memory = { drain: NO_DRAIN_MEMORY };
  const seen: string[] = [];
  for (let i = 0; i < 4; i++) {
    const scope = { o: { drain: look([pod]) }, memory, now: later(i), signal: new AbortController().signal };
    await evictPods(client, [pod], scope as never);
    const attempt = memory.drain.attempts.get(pod.uid);
    seen.push(`${attempt?.result} ${attempt?.count}`);
    expect(memory.drain.moves.has(pod.uid)).toBe(attempt?.result === 'asked');
  }
  expect(seen).toEqual(['blocked 1', 'blocked 2', 'failed 1', 'asked 1']);
});

test('after a lost response, the volumes of the pod move until the API server refuses the eviction', async () => {
  const answers = [
    () => Promise.reject(new Error('connection reset')),
    () => Promise.resolve(status(504, 'Timeout')),
    () => Promise.resolve(status(429, 'TooManyRequests')),
    () => Promise.reject(new Error('connection reset')),
    () => Promise.resolve(status(500, 'InternalError')),
  ];
  const transport: Transport = () => answers.shift()?.() ?? Promise.resolve(accepted());
  const pod = withVolume('db');
  const scope = scopeOf([pod]);
  const moving: boolean[] = [];
  while (answers.length > 0) {
    await evictPods(clientOf(transport), [pod], scope);
    moving.push(scope.memory.drain.moves.has(pod.uid));
  }
  expect(moving).toEqual([true, true, false, true, false]);
});

const scopeOf = (pods: Parameters<typeof look>[0]) => ({
  o: { drain: look(pods) },
  memory: { drain: NO_DRAIN_MEMORY },
  now: later(0),
  signal: new AbortController().signal,
});
const clientOf = (transport: Transport) =>
  createClient({ transport, userAgent: 't', clock: new VirtualClock(), random: seededRandom(1) });
const accepted = () => Response.json({ kind: 'Status', status: 'Success' }, { status: 201 });

test('a drain sends at most 20 requests at once, and all of them', async () => {
  let [open, most, sent] = [0, 0, 0];
  const transport: Transport = async () => {
    open += 1;
    sent += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    return accepted();
  };
  const pods = Array.from({ length: 50 }, (_, i) => podOf(`p${i}`));
  await evictPods(clientOf(transport), pods, scopeOf(pods));
  expect([most, sent]).toEqual([20, 50]);
});

test('only pods that were deleted instead of evicted are reported', async () => {
  const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404, reason: 'NotFound', message: 'x' };
  const answer = (evicts: boolean): Transport => {
    return async ({ path }) =>
      path.endsWith('/eviction') && !evicts ? Response.json(missing, { status: 404 }) : accepted();
  };
  const pods = [podOf('a')];
  expect(await evictPods(clientOf(answer(true)), pods, scopeOf(pods))).toEqual([]);
  expect(await evictPods(clientOf(answer(false)), pods, scopeOf(pods))).toMatchObject([{ name: 'a' }]);
});

const refusalWith = (code: number, causes?: readonly object[]): Transport => {
  const details = causes ? { details: { causes } } : {};
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason: 'x', message: 'no', ...details };
  return async () => Response.json(body, { status: code });
};
const NAMESPACE_ENDS = { reason: 'NamespaceTerminating' };

test.each<[what: string, transport: Transport, result: string]>([
  ['a budget', refusalWith(429), 'blocked'],
  [
    'the end of its namespace, among other causes',
    refusalWith(403, [{ reason: 'x' }, NAMESPACE_ENDS]),
    'namespaceEnds',
  ],
  ['missing permissions', refusalWith(403), 'failed'],
  ['missing permissions, with details', refusalWith(403, [{ reason: 'FieldValueInvalid' }]), 'failed'],
  [
    'details without causes',
    async () =>
      Response.json(
        { kind: 'Status', apiVersion: 'v1', code: 403, message: 'no', details: { name: 'a' } },
        { status: 403 },
      ),
    'failed',
  ],
  ['another refusal in such a namespace', refusalWith(500, [NAMESPACE_ENDS]), 'failed'],
])('an eviction is refused because of %s', async (_what, transport, result) => {
  const pods = [podOf('a', { budgets: [budget()] })];
  const scope = scopeOf(pods);
  await evictPods(clientOf(transport), pods, scope);
  expect(scope.memory.drain.attempts.get('uid-a')).toMatchObject({ result, at: later(0), budgets: 'default/web@7' });
});

test('the wait that the API server requests is remembered, if there is one', async () => {
  const pods = [podOf('a')];
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 429, message: 'no' };
  const remembered = async (headers: Record<string, string>) => {
    const scope = scopeOf(pods);
    await evictPods(
      clientOf(async () => Response.json(body, { status: 429, headers })),
      pods,
      scope,
    );
    return scope.memory.drain.attempts.get('uid-a');
  };
  expect(await remembered({ 'retry-after': '70' })).toMatchObject({ retryAfterMs: 70_000 });
  expect((await remembered({}))?.retryAfterMs).toBeUndefined();
});

test('an error that is no answer of the API server is thrown, and no attempt is recorded', async () => {
  const pods = [podOf('a')];
  const scope = scopeOf(pods);
  const stopped = new Error('stopped');
  const client = {
    resource: () => {
      throw stopped;
    },
  } as never;
  await expect(evictPods(client, pods, scope)).rejects.toBe(stopped);
  await expect(deletePods(client, pods, scope)).rejects.toBe(stopped);
  expect(scope.memory.drain.attempts.size).toBe(0);
});

test('a deletion without grace names the UID of the pod, and its result is recorded apart from an eviction', async () => {
  const pods = [podOf('a'), podOf('gone'), podOf('kept')];
  const sent: unknown[] = [];
  const transport: Transport = async ({ path, body }) => {
    sent.push([path, JSON.parse(String(body))]);
    if (path.endsWith('/gone')) return status(404, 'NotFound');
    return path.endsWith('/kept') ? status(409, 'Conflict') : accepted();
  };
  const scope = scopeOf(pods);
  await deletePods(clientOf(transport), pods, scope);
  expect(sent[0]).toEqual([
    '/api/v1/namespaces/default/pods/a',
    expect.objectContaining({ gracePeriodSeconds: 0, preconditions: { uid: 'uid-a' } }),
  ]);
  const attempt = (name: string) => scope.memory.drain.attempts.get(forcedKey(podOf(name)));
  expect(['a', 'gone', 'kept'].map((name) => attempt(name)?.result)).toEqual(['asked', 'asked', 'failed']);
  expect(attempt('a')).toEqual({ at: later(0), budgets: '', result: 'asked', message: '', count: 1 });
  expect(attempt('kept')?.message).toContain('Conflict');
});

test('pods are evicted by a drain that observed none of them', async () => {
  const pods = [podOf('a')];
  const scope = { ...scopeOf(pods), o: {} };
  await evictPods(
    clientOf(async () => accepted()),
    pods,
    scope,
  );
  expect(scope.memory.drain.attempts.get('uid-a')).toMatchObject({ result: 'asked', budgets: '' });
});
