import { afterEach, expect, test, vi } from 'vitest';
import { TestPlane } from '../../controllers/testing.ts';
import type { Sink } from './exchange.ts';
import { inProcess, piecesOf, textOf } from './in-process.ts';

afterEach(() => vi.unstubAllGlobals());

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const answer = (body: (sink: Sink) => void) => ({ status: 200, headers: {}, body });

function stream() {
  let sink: Sink | undefined;
  let closed = 0;
  const response = answer((given) => {
    sink = given;
    given.onClose(() => closed++);
  });
  return { response, write: (text: string) => sink?.write(encode(text)), end: () => sink?.end(), closed: () => closed };
}

test('a request is parsed as it was sent', async () => {
  const request = inProcess({
    method: 'PATCH',
    target: '/api/v1/nodes/a%20b?dryRun=All&x=1',
    headers: { accept: 'application/json' },
    body: '{"ä":1}',
  });
  expect([request.method, request.path, request.query.get('dryRun')]).toEqual(['PATCH', '/api/v1/nodes/a%20b', 'All']);
  expect(request.header('accept')).toBe('application/json');
  expect(new TextDecoder().decode(await request.body())).toBe('{"ä":1}');
  expect(request.trusted).toBe(true);
});

test('an answer of text or bytes has a text; a stream has none', () => {
  expect(textOf({ status: 200, headers: {}, body: 'ä' })).toBe('ä');
  expect(textOf({ status: 200, headers: {}, body: encode('ä') })).toBe('ä');
  expect(() => textOf(answer(() => undefined))).toThrow(TypeError);
});

test('chunks arrive as they are written, before and after a read, until the stream ends', async () => {
  const { response, write, end, closed } = stream();
  const pieces = piecesOf(response, new AbortController().signal);
  const first = pieces.next();
  write('a');
  write('b');
  expect(await first).toEqual({ done: false, value: encode('a') });
  expect(await pieces.next()).toEqual({ done: false, value: encode('b') });
  const third = pieces.next();
  write('c');
  end();
  expect(await third).toEqual({ done: false, value: encode('c') });
  expect(await pieces.next()).toEqual({ done: true, value: undefined });
  expect(closed()).toBe(1);
});

test('the signal ends a waiting stream with its reason, and notifies the writer', async () => {
  const { response, closed } = stream();
  const stop = new AbortController();
  const waiting = piecesOf(response, stop.signal).next();
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(closed()).toBe(1);
});

test('a break in the loop of the reader ends the stream', async () => {
  const { response, write, closed } = stream();
  const pieces = piecesOf(response, new AbortController().signal);
  const first = pieces.next();
  write('a');
  await first;
  await pieces.return?.();
  expect(closed()).toBe(1);
});

test('controllers work without a single Request or stream of the platform', async () => {
  await using plane = await TestPlane.start('disruption');
  let made = 0;
  const Platform = Request;
  const counted = class extends Platform {
    constructor(...given: ConstructorParameters<typeof Request>) {
      super(...given);
      made++;
    }
  };
  vi.stubGlobal('Request', counted);
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await plane.must('POST', budgets, {
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } },
  });
  const { status } = await plane.must('GET', `${budgets}/b`);
  expect(status).toMatchObject({ observedGeneration: 1, desiredHealthy: 1 });
  expect(made).toBe(2);
});
