import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { decodeProtobuf } from '../protobuf/index.ts';
import { settle, startTestPlane } from '../testing.ts';
import { isThorough } from '../thorough.testing.ts';
import { request, type Sent, samples, values } from './fuzz.testing.ts';

/** A longer run: `MCM_FUZZ_RUNS=100000 MCM_FUZZ_SEED=$RANDOM vitest run fuzz` */
const RUNS = Number(process.env.MCM_FUZZ_RUNS ?? (isThorough ? 6000 : 1000));
const SEED = Number(process.env.MCM_FUZZ_SEED ?? 20260101);

/** If the handler fails unexpectedly, its message starts with this text. */
const UNFORESEEN = /^internal error/;

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeAll(async () => {
  setup = await startTestPlane({ crds: [samples.crd], random: seeded() });
  await fill();
});

/** Creates the sample objects, which later requests change. */
async function fill(): Promise<void> {
  for (const { path, object } of samples.collections) {
    const body = Uint8Array.from(Buffer.from(JSON.stringify(object)));
    await send({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body });
  }
}

afterAll(() => setup.plane.close());

function seeded(): () => number {
  let state = SEED;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const PATIENCE = 20;

async function send({
  method,
  path,
  headers: sent,
  body,
}: Sent): Promise<{ status: number; text: string; type: string }> {
  const gone = new AbortController();
  const init = body === undefined ? {} : { body, duplex: 'half' as const };
  const url = `https://plane${path}`;
  let answer: Response | undefined;
  const pending = setup.plane
    .fetch(new Request(url, { method, headers: sent, signal: gone.signal, ...init }))
    .then((response) => {
      answer = response;
    });
  for (let turn = 0; answer === undefined; turn++) {
    if (turn > PATIENCE) throw new Error('no answer');
    await Promise.race([pending, settle()]);
    if (answer === undefined && turn > 2) await setup.clock.advance(5_000);
  }
  const response = answer as Response;
  const type = response.headers.get('content-type') ?? '';
  if (response.body !== null && response.headers.get('content-length') === null) {
    await settle();
    gone.abort();
    await response.body.cancel().catch(() => undefined);
    return { status: response.status, text: '', type };
  }
  if (type === 'application/vnd.kubernetes.protobuf' && method !== 'HEAD') {
    const object = decodeProtobuf(new Uint8Array(await response.arrayBuffer()), () => undefined);
    return { status: response.status, text: JSON.stringify(object), type };
  }
  return { status: response.status, text: await response.text(), type };
}

const shown = ({ body, ...sent }: Sent): string =>
  JSON.stringify({ ...sent, body: body === undefined ? undefined : Buffer.from(body.slice(0, 2_000)).toString() });

function checkRefusal({ status, text, type }: { status: number; text: string; type: string }): void {
  if (/json|protobuf/.test(type)) {
    const body = JSON.parse(text) as Partial<{ kind: string; code: number; message: string; status: string }>;
    expect(body).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status });
    expect(body.message).toEqual(expect.any(String));
    expect(body.message).not.toMatch(UNFORESEEN);
  } else if (type === 'application/yaml') expect(text).toMatch(/^kind: Status$/m);
  else if (status !== 404 || text !== '404 page not found\n') throw new Error(`a refusal of type ${type}: ${text}`);
}

test(`${RUNS} mutated requests from seed ${SEED}: each gets an answer, each refusal is a Status, and no failure is unexpected`, {
  timeout: 60_000 + RUNS * 40,
}, async () => {
  const answers = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(request, async (one) => {
      try {
        const answer = await send(one);
        const key = `${one.method} ${answer.status}`;
        answers.set(key, (answers.get(key) ?? 0) + 1);
        if (answer.status >= 400 && one.method !== 'HEAD') checkRefusal(answer);
        expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
      } catch (error) {
        throw new Error(`${shown(one)}\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  for (const taken of ['POST 201', 'PATCH 200', 'PUT 200', 'DELETE 200'])
    expect(answers.get(taken) ?? 0, taken).toBeGreaterThan(RUNS / 400);
  await everythingIsReadable();
});

async function everythingIsReadable(): Promise<void> {
  const read = async (method: string, path: string, accept: string, body?: string) => {
    const sent: Sent = {
      method,
      path,
      headers: { accept, 'content-type': 'application/merge-patch+json' },
      body: body === undefined ? undefined : Uint8Array.from(Buffer.from(body)),
    };
    const answer = await send(sent);
    expect(answer.status, `${method} ${path} ${accept}: ${answer.text.slice(0, 500)}`).toBeLessThan(
      method === 'GET' ? 300 : 500,
    );
    return answer.text;
  };
  for (const { path, object } of samples.collections) {
    if (object.metadata === undefined) continue;
    for (const accept of values.accepts.slice(0, 4)) await read('GET', path, accept);
    const { items } = JSON.parse(await read('GET', path, 'application/json')) as { items: ApiObject[] };
    for (const { metadata } of items) {
      const item = `${path}/${encodeURIComponent(metadata.name ?? '')}`;
      for (const accept of values.accepts.slice(0, 5)) await read('GET', item, accept);
      // If the object was stored incorrectly, an update fails to read the object.
      await read('PATCH', item, 'application/json', '{"metadata":{"annotations":{"seen":"yes"}}}');
    }
  }
}
