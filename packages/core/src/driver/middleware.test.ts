import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { LearnedRate } from './cloud/learned-rate.ts';
import type { CreatedInstance } from './contract/driver.ts';
import { MachineError } from './contract/errors.ts';
import { type DriverTracer, registeredTracer } from './invoker/api/tracing.ts';
import { classOf, create, failure, machineOf, play, TOKENS } from './toy.ts';

test('a throttle slows down all machines with the same credentials, of any class, and no others', async () => {
  const begun: { readonly pool: string; readonly at: number }[] = [];
  let refusals = 1;
  const start = new VirtualClock().now().getTime();
  const { clock, invoker } = play({
    create: async ({ machineClass, signal: _ }) => {
      begun.push({ pool: machineClass.metadata.name, at: clock.now().getTime() - start });
      if (refusals-- > 0) throw new MachineError('Unavailable', 'too many', { retryAfterMs: 10_000 });
      return { providerId: 'toy:///1', nodeName: 'n' };
    },
  });
  await failure(create(invoker, 'first', 'a'));
  const rest = [create(invoker, 'second', 'b'), create(invoker, 'third', 'other')];
  let over = false;
  const ended = Promise.all(rest).then(() => {
    over = true;
  });
  await clock.runUntil(() => over, { maxMs: 60_000 });
  await ended;
  expect(begun.map(({ pool }) => pool)).toEqual(['a', 'other', 'b']);
  expect(begun[1]?.at).toBe(0);
  expect(begun[2]?.at).toBeGreaterThanOrEqual(10_000);
});

test('a driver that spaces its requests itself is not delayed twice', async () => {
  let calls = 0;
  const { invoker } = play({
    spacesRequests: true,
    create: async () => {
      calls++;
      if (calls === 1) throw new MachineError('Unavailable', 'too many', { retryAfterMs: 10_000 });
      return { providerId: 'toy:///1', nodeName: 'n' };
    },
  });
  await failure(create(invoker, 'first'));
  await create(invoker, 'second');
  expect(calls).toBe(2);
});

test.each([
  ['a driver that spaces its requests', true],
  ['any other driver', false],
])('calls of %s wait in lanes: deletions first, then health, creations and audits', async (_what, spacesRequests) => {
  const order: string[] = [];
  const waits: string[] = [];
  let rate: LearnedRate | undefined;
  const sent = async (name: string, signal: AbortSignal): Promise<void> => {
    if (spacesRequests) await rate?.take(signal);
    order.push(name);
  };
  const machine = { ...machineOf('m', 'a'), spec: { ...machineOf('m', 'a').spec, providerID: 'toy:///1' } };
  const deleted = {
    ...machine,
    metadata: { ...machine.metadata, name: 'd', deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  let throttles = !spacesRequests;
  const { clock, invoker } = play(
    {
      spacesRequests,
      create: async ({ signal }) => {
        await sent('create', signal);
        return { providerId: 'toy:///1', nodeName: 'n' };
      },
      status: async ({ machine: { metadata }, signal }) => {
        await sent(`status ${metadata.name}`, signal);
        return { providerId: 'toy:///1', nodeName: 'n' };
      },
      delete: async ({ signal }) => {
        await sent('delete', signal);
        return undefined;
      },
      list: async ({ signal }) => {
        if (throttles) {
          throttles = false;
          throw new MachineError('Unavailable', 'too many', { retryAfterMs: 10_000 });
        }
        await sent('list', signal);
        return [];
      },
    },
    { observeWait: (lane) => waits.push(lane) },
  );
  rate = new LearnedRate(clock);
  if (spacesRequests) rate.throttled(10_000);
  else await failure(invoker.list(classOf('a')));
  const calls = [
    invoker.list(classOf('a')),
    create(invoker, 'm'),
    invoker.status(machine),
    invoker.status(deleted),
    invoker.delete(deleted),
  ];
  await clock.runUntil(() => order.length === calls.length, { maxMs: 120_000 });
  await Promise.all(calls);
  expect(order).toEqual(['status d', 'delete', 'status m', 'create', 'list']);
  expect(waits).toEqual(['delete', 'delete', 'health', 'create', 'audit']);
});

test('the reason for which a creation waits is reported without secrets', async () => {
  const reported: string[] = [];
  const { invoker } = play({
    create: async ({ waitsFor, credentials: { token }, userData }) => {
      waitsFor?.(`a disk, asked for with ${token} and ${userData}`);
      return { providerId: 'toy:///1', nodeName: 'n' };
    },
  });
  const render = async (userData: Uint8Array): Promise<Uint8Array> =>
    Buffer.concat([userData, Buffer.from(' with bootstrap.token0123')]);
  await invoker.create(machineOf('m', 'a'), render, undefined, (what) => reported.push(what));
  expect(reported).toHaveLength(1);
  expect(reported[0]).toMatch(/^a disk, asked for with /);
  for (const secret of [TOKENS.a ?? '', '#cloud-config of pool a', 'token0123'])
    expect(reported[0]).not.toContain(secret);
});

test.each<[what: string, thrown: unknown, message: string]>([
  ['null', null, 'null'],
  ['a text', 'a text', 'a text'],
  ['an error without a message', new TypeError(), ''],
  ['an object', { code: 5 }, '[object Object]'],
  ['an object that cannot be converted to text', Object.create(null), 'the driver threw a value that is not an Error'],
])('any error that a driver throws is Unknown: %s', async (_what, thrown, message) => {
  const { invoker } = play({
    create: () => {
      throw thrown;
    },
  });
  const error = await failure(create(invoker, 'm'));
  expect([error.code, error.message]).toEqual(['Unknown', message]);
});

test.each<[what: string, answer: unknown, says: string]>([
  [
    'nothing',
    undefined,
    'driver toy returned an invalid result of create: the driver must return an object; fix the driver',
  ],
  [
    'no provider id',
    { nodeName: 'n' },
    'driver toy returned an invalid result of create: the provider ID of the VM must be a string',
  ],
  [
    'an empty provider id',
    { providerId: '', nodeName: 'n' },
    'driver toy returned an invalid result of create: the provider ID of the VM must be a string',
  ],
  [
    'no node name',
    { providerId: 'x' },
    'driver toy returned an invalid result of create: the node name of the VM must be a string',
  ],
])('an invalid answer is an error and not a machine: %s', async (_what, answer, says) => {
  const { invoker } = play({ create: async () => answer as CreatedInstance });
  const error = await failure(create(invoker, 'm'));
  expect(error.code).toBe('Internal');
  expect(error.message).toContain(says);
});

test('an incomplete list is an error, because missing VMs would count as deleted', async () => {
  const { invoker } = play({ list: async () => [{ providerId: 'x', machineName: 'm' }, { providerId: 'y' } as never] });
  const error = await failure(invoker.list(classOf('a')));
  expect(error.message).toContain(
    'returned an invalid result of list: entry 1 of the list must have a provider ID and a machine name',
  );
});

test('logs of a driver contain no value of the Secret', async () => {
  const { invoker, log } = play({
    create: async ({ log: own }) => {
      const circle: Record<string, unknown> = { header: 'Bearer token-shared' };
      circle.self = circle;
      own.with({ asked: 'with token-shared' }).warn('refused token-shared', {
        circle,
        error: new Error('token-shared is bad'),
        list: ['token-shared'],
      });
      return { providerId: 'toy:///1', nodeName: 'n' };
    },
  });
  await create(invoker, 'm');
  expect(log.lines.length).toBe(1);
  expect(JSON.stringify(log.lines)).not.toContain('token-shared');
  expect(JSON.stringify(log.lines)).toContain('Bearer ***');
});

test('unknown fields of a provider spec are reported with the most similar name, and are no error', async () => {
  const { invoker } = play({});
  expect(invoker.unknownFields(classOf('a'))).toEqual([
    'providerSpec.sise: is not a field of provider toy, so mcm ignores the field; did you mean size?',
    'providerSpec.disks[0].gigabyte: is not a field of provider toy, so mcm ignores the field; did you mean gigabytes?',
  ]);
  expect(invoker.check(classOf('a'))).toEqual([]);
});

function keepingTracer() {
  const spans: { name: string; reported: unknown[]; ended: boolean }[] = [];
  const tracer: DriverTracer = {
    startSpan: (name, options) => {
      const span = { name, reported: [options] as unknown[], ended: false };
      spans.push(span);
      return {
        setAttributes: (attributes) => span.reported.push(attributes),
        addEvent: (event, attributes) => span.reported.push({ event, ...attributes }),
        setStatus: (status) => span.reported.push(status),
        end: () => {
          span.ended = true;
        },
      };
    },
  };
  return { spans, tracer };
}

test('each call has a span with its requests, its code and no secret', async () => {
  const { spans, tracer } = keepingTracer();
  const { invoker } = play(
    {
      create: async ({ observeApi }) => {
        observeApi?.('post_server', 12, undefined);
        throw new MachineError('ResourceExhausted', 'no room for token-shared');
      },
    },
    { tracer },
  );
  await failure(create(invoker, 'm'));
  expect(spans).toEqual([
    {
      name: 'driver create_machine',
      ended: true,
      reported: [
        { kind: 2, attributes: { provider: 'toy', machine: 'default/m', 'machine.uid': 'm' } },
        { event: 'post_server', 'duration.ms': 12, failed: false },
        { 'machine.error_code': 'ResourceExhausted' },
        { code: 2, message: 'no room for ***' },
      ],
    },
  ]);
});

test('the tracer of an OpenTelemetry SDK in the process is found where its API stores it', () => {
  const { tracer } = keepingTracer();
  const key = Symbol.for('opentelemetry.js.api.1');
  expect(registeredTracer({})).toBeUndefined();
  expect(registeredTracer({ [key]: {} })).toBeUndefined();
  expect(registeredTracer({ [key]: { trace: { getTracer: () => tracer } } })).toBe(tracer);
});

test.each([
  ['secret', 'correct the value in Secret default/a'],
  ['providerSpec.size', 'correct providerSpec.size of MachineClass a'],
] as const)('if the error of a driver does not name the field, core adds it: %s', async (place, hint) => {
  const wrong = () => {
    throw new MachineError('Internal', 'it cannot be empty', { place });
  };
  const reported: unknown[] = [];
  const { invoker } = play({ decode: wrong }, { observeClass: (_class, _call, problem) => reported.push(problem) });
  const { code, message } = await failure(create(invoker, 'm-0'));
  expect([code, message]).toEqual(['Internal', `it cannot be empty; ${hint}`]);
  expect(invoker.check(classOf('a'))).toEqual([`it cannot be empty; ${hint}`]);
  expect(reported).toEqual([]);
});
