import { type Decision, type ObserveDecisions, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { observedCalls } from './cloud/observed.ts';
import { observingDriver } from './cloud/observing.ts';
import { MachineError } from './contract/errors.ts';
import { scrub } from './invoker/stages/scrub.ts';
import { classOf, create, failure, machineOf, play, TOKENS } from './toy.ts';

test('each call that ends is reported with its duration, its machine and its error', async () => {
  const reported: unknown[] = [];
  const { clock, invoker } = play(
    {
      create: () => new Promise((resolve) => clock.setTimeout(() => resolve({ providerId: 'x', nodeName: 'n' }), 250)),
      delete: () => Promise.reject(new MachineError('Unavailable', 'not now')),
    },
    {
      observe: (call, ms, error, machine, machineClass) =>
        reported.push([call, ms, error?.code, machine?.metadata.name, machineClass?.metadata.name]),
    },
  );
  await clock.ended(create(invoker, 'm'), { maxMs: 1_000 });
  await failure(invoker.delete(machineOf('m', 'a')));
  await invoker.list(classOf('a'));
  expect(reported).toEqual([
    ['create', 250, undefined, 'm', 'a'],
    ['delete', 0, 'Unavailable', 'm', 'a'],
    ['list', 0, undefined, undefined, undefined],
  ]);
});

test('each request that a driver reports is forwarded', async () => {
  const reported: unknown[] = [];
  const refusal = new Error('refused');
  const { invoker } = play(
    {
      list: async ({ observeApi }) => {
        observeApi?.('instance_list', 7, undefined);
        observeApi?.('instance_get', 8, refusal);
        return [];
      },
    },
    { observeApi: (...each) => reported.push(each) },
  );
  await invoker.list(classOf('a'));
  expect(reported).toEqual([
    ['instance_list', 7, undefined],
    ['instance_get', 8, refusal],
  ]);
});

test('a request is timed from its start to its end, with any result', async () => {
  const clock = new VirtualClock();
  const reported: unknown[] = [];
  const counted = observedCalls(clock, (...each) => reported.push(each));
  const after = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
  await clock.ended(
    counted('one', () => after(30)),
    { maxMs: 100 },
  );
  const refusal = new Error('refused');
  const failing = counted('two', async () => {
    await after(40);
    throw refusal;
  });
  await expect(clock.ended(failing, { maxMs: 100 })).rejects.toBe(refusal);
  expect(reported).toEqual([
    ['one', 30, undefined],
    ['two', 40, refusal],
  ]);
});

test('a successful call has an ended span', async () => {
  const reported: string[] = [];
  const span = {
    setAttributes: () => reported.push('attributes'),
    addEvent: () => reported.push('event'),
    setStatus: () => reported.push('status'),
    end: () => void reported.push('end'),
  };
  const { invoker } = play({}, { tracer: { startSpan: () => span } });
  await create(invoker, 'm');
  expect(reported).toEqual(['end']);
});

test.each(['create', 'initialize', 'stop', 'start', 'tag', 'delete'] as const)(
  'a process that is no longer the leader sends no %s',
  async (call) => {
    let asked = 0;
    const answer = async () => {
      asked++;
      return { providerId: 'x', nodeName: 'n' };
    };
    const lost = () => Promise.reject(new Error('another has the Lease'));
    const done = async () => void asked++;
    const { invoker } = play(
      { create: answer, initialize: answer, status: answer, stop: done, start: done, tag: done, delete: done },
      { fence: { confirm: lost, held: lost } },
    );
    const machine = machineOf('m', 'a');
    const [stop, tag] = [() => invoker.stop(machine, false), () => invoker.tag(machine, { a: '1' })];
    const send = { ...invoker, create: () => create(invoker, 'm'), stop, tag };
    const error = await failure(send[call](machine));
    expect(error).toMatchObject({ code: 'Aborted', message: expect.stringContaining('another has the Lease') });
    expect(asked).toBe(0);
    await invoker.status(machine);
    await invoker.list(classOf('a'));
    expect(asked).toBe(1);
  },
);

test('a process that loses the Lease while it creates the bootstrap token sends no create', async () => {
  let leads = true;
  const confirm = () => (leads ? Promise.resolve() : Promise.reject(new Error('another has the Lease')));
  const { invoker } = play(
    { create: () => expect.fail('no VM may be made') },
    { fence: { confirm, held: () => Promise.resolve() } },
  );
  const render = async (userData: Uint8Array) => {
    leads = false;
    return userData;
  };
  const error = await failure(invoker.create(machineOf('m', 'a'), render));
  expect(error).toMatchObject({ code: 'Aborted', message: expect.stringContaining('another has the Lease') });
});

test('refuses to create a VM for a machine of another class kind', async () => {
  const { invoker } = play({ create: () => expect.fail('no VM may be made') });
  const machine = machineOf('m', 'a');
  const old = { ...machine, spec: { class: { kind: 'AWSMachineClass', name: 'a' } } };
  const error = await failure(invoker.create(old, async (userData) => userData));
  expect(error).toMatchObject({ code: 'InvalidArgument', message: expect.stringContaining('must be MachineClass') });
});

test('no error contains the rendered user data, in any encoding that the cloud quotes', async () => {
  const { invoker } = play({
    create: async ({ userData }) => {
      throw new MachineError('Internal', `bad request: ${Buffer.from(userData).toString('base64')} ${userData}`);
    },
  });
  const rendered = '#!/bin/sh\njoin --with-what-only-the-call-knows';
  const error = await failure(invoker.create(machineOf('m', 'a'), async () => Buffer.from(rendered)));
  expect(error.message).not.toContain('what-only-the-call-knows');
  expect(error.message).not.toContain(Buffer.from(rendered).toString('base64').slice(0, 24));
});

test('problems that a driver finds in a class are reported without its secrets', () => {
  const { invoker } = play({ check: ({ credentials: { token } }) => [`the token ${token} is none`] });
  expect(invoker.check(classOf('a'))).toEqual(['the token *** is none']);
});

const refusesA = async ({ credentials: { token } }: { readonly credentials: { readonly token: string } }) => {
  if (token === TOKENS.a) throw new MachineError('Internal', 'bad key', { credentialsRefused: true });
  return { providerId: 'x', nodeName: 'n' };
};

test('a deletion with refused credentials is repeated with those of another class that see the VM', async () => {
  const by: string[] = [];
  const { invoker } = play(
    {
      status: refusesA,
      delete: async (request) => {
        await refusesA(request);
        by.push(request.credentials.token);
        return undefined;
      },
    },
    { fallback: () => [classOf('b'), classOf('other')] },
  );
  await invoker.delete(machineOf('m', 'a'));
  expect(by).toEqual([TOKENS.other]);
});

test('other credentials are not tried for a failure of another kind', async () => {
  let asked = 0;
  const { invoker } = play(
    {
      status: refusesA,
      delete: async () => {
        asked++;
        throw new MachineError('Unavailable', 'not now');
      },
    },
    { fallback: () => [classOf('other')] },
  );
  expect((await failure(invoker.delete(machineOf('m', 'a')))).code).toBe('Unavailable');
  expect(asked).toBe(1);
});

test('other credentials are not tried for an aborted call, because the abort may cause its refusal', async () => {
  const stop = new AbortController();
  const looked: string[] = [];
  const { invoker } = play(
    {
      status: async ({ credentials: { token } }) => {
        looked.push(token);
        return { providerId: 'x', nodeName: 'n' };
      },
      delete: async () => {
        stop.abort();
        throw new MachineError('Internal', 'bad key', { credentialsRefused: true });
      },
    },
    { fallback: () => [classOf('other')], stop: stop.signal },
  );
  await failure(invoker.delete(machineOf('m', 'a')));
  expect(looked).toEqual([]);
});

test('codes of credentials are refusals of them; other codes only with the flag', () => {
  const refused = (...given: ConstructorParameters<typeof MachineError>) =>
    new MachineError(...given).credentialsRefused;
  expect(refused('Unauthenticated', '')).toBe(true);
  expect(refused('PermissionDenied', '')).toBe(true);
  expect(refused('Internal', '')).toBe(false);
  expect(refused('Internal', '', { credentialsRefused: true })).toBe(true);
});

test('an error without its secrets is equal otherwise', () => {
  const reported = new MachineError('Unavailable', 'no room for token-shared', {
    credentialsRefused: true,
    throttled: true,
    unexpected: true,
    retryAfterMs: 5_000,
  });
  const { code, message, retryAfterMs, credentialsRefused, throttled, unexpected } = scrub(reported, {
    token: 'token-shared',
  });
  expect([code, message, retryAfterMs, credentialsRefused, throttled, unexpected]).toEqual([
    ...['Unavailable', 'no room for ***', 5_000, true, true, true],
  ]);
});

test('an observing process changes nothing and records the calls', async () => {
  const wanted: string[] = [];
  const { invoker, driver } = play({
    initialize: () => expect.fail('it changes'),
    tag: () => expect.fail('it changes'),
    delete: () => expect.fail('it changes'),
  });
  const machine = machineOf('m', 'a');
  const made = { ...machine, spec: { ...machine.spec, providerID: 'toy:///1' } };
  const seen = { create: made, initialize: made, delete: machine };
  const budget = {
    follow: ({ what, done }: Decision) => {
      wanted.push(what);
      const object = seen[what.split(' ')[0] as keyof typeof seen];
      expect(done(machine, false)).toBe(false);
      expect(done(object, what === 'delete vm')).toBe(true);
      return Promise.resolve(object);
    },
  };
  const only = play(observingDriver(driver, budget as unknown as ObserveDecisions)).invoker;
  expect(await create(only, 'm')).toEqual({ providerId: 'toy:///1', nodeName: 'm' });
  expect(await only.initialize(machine)).toEqual({ providerId: 'toy:///1', nodeName: 'm' });
  expect(await only.delete(machine)).toBeUndefined();
  expect([invoker.can.tag, only.can.tag]).toEqual([true, false]);
  expect(wanted).toEqual(['create vm', 'initialize vm', 'delete vm']);
  expect(await invoker.list(classOf('a'))).toEqual([]);
});

test.each(['works', 'is refused'])(
  'the rate of a cloud is learned from calls that it answers: each %s',
  async (how) => {
    const begun: number[] = [];
    let throttles = false;
    const { clock, invoker } = play({
      create: async () => {
        begun.push(clock.monotonic());
        if (throttles) throw new MachineError('Unavailable', 'too many', { throttled: true });
        if (how === 'is refused') throw new MachineError('InvalidArgument', 'no such image');
        return { providerId: 'x', nodeName: 'n' };
      },
    });
    for (let n = 0; n < 10; n++) await create(invoker, 'm').catch(() => undefined);
    throttles = true;
    await failure(create(invoker, 'm'));
    throttles = false;
    const next = create(invoker, 'm').catch(() => undefined);
    await clock.ended(next, { maxMs: 10_000 });
    expect((begun.at(-1) ?? 0) - (begun.at(-2) ?? 0)).toBe(125);
  },
);
