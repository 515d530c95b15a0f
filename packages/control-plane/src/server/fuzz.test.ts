import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ApiObject } from '../object.ts';
import { settle, startTestPlane } from '../testing.ts';

/** Requests of one run. More of them by hand: `MCM_FUZZ_RUNS=100000 MCM_FUZZ_SEED=$RANDOM vitest run fuzz`. */
const RUNS = Number(process.env.MCM_FUZZ_RUNS ?? 6000);
const SEED = Number(process.env.MCM_FUZZ_SEED ?? 20260101);

interface Collection {
  readonly path: string;
  readonly subresources: readonly string[];
  readonly object: ApiObject;
}
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

const samples = JSON.parse(readFileSync(new URL('../../testdata/fuzz/samples.json', import.meta.url), 'utf8')) as {
  readonly crd: object;
  readonly collections: readonly Collection[];
};

/** What goes into requests. Never a key with a backslash: V8 misreads some of those. */
const values = JSON.parse(readFileSync(new URL('../../testdata/fuzz/values.json', import.meta.url), 'utf8')) as Record<
  'texts' | 'keys' | 'words' | 'tokens' | 'queryKeys' | 'accepts' | 'otherTypes',
  readonly string[]
>;
/** JSON texts, some of which no value of JavaScript gives. */
const TEXTS = [
  ...values.texts,
  `"${'x'.repeat(70_000)}"`,
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
];
const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]; // prettier-ignore
/** How the handler begins the sentence of a failure that nobody has foreseen; the 500s of the real server have sentences of their own. */
const UNFORESEEN = /^internal error/;

const word = fc.constantFrom(...values.words);
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(...values.queryKeys),
      fc.oneof(
        { weight: 3, arbitrary: word },
        fc.constantFrom(...values.tokens.map((text) => Buffer.from(text).toString('base64url'))),
      ),
    ),
    { maxLength: 4 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`));
const headers = (types: readonly string[]) =>
  fc.record(
    {
      'content-type': fc.constantFrom(...types),
      accept: fc.constantFrom(...values.accepts, ...Array<string>(20).fill('application/json')),
      'user-agent': fc.constantFrom('kubectl/v1.36', 'curl/8', '', '/'),
    },
    { requiredKeys: ['content-type'] },
  );

/** One change of a body: which of its places, what to do there, with which text and key. */
const mutation = fc.record({
  place: fc.nat(10_000),
  act: fc.constantFrom('set', 'set', 'set', 'delete', 'add', 'repeat', 'name'),
  text: fc.constantFrom(...TEXTS),
  key: fc.constantFrom(...values.keys),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;
const damage = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  fc.record({
    at: fc.nat(1_000_000),
    how: fc.constantFrom('cut', 'flip', 'invalid', 'empty', 'twice'),
    byte: fc.nat(255),
  }),
);

type Place = { readonly holder: Record<string, unknown> | unknown[]; readonly key: string | number };

function placesOf(value: unknown, places: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return places;
  for (const [key, item] of Object.entries(value)) {
    places.push({ holder: value as Record<string, unknown>, key });
    placesOf(item, places);
  }
  return places;
}

function rename(root: unknown, name: string): void {
  const { metadata } = (root ?? {}) as { metadata?: unknown };
  if (typeof metadata === 'object' && metadata !== null) Object.assign(metadata, { name });
}

/** The text of a value with texts put in place of marks, since many of them are no values. */
function mutate(base: unknown, mutations: readonly Mutation[]): string {
  const holder = { root: structuredClone(base) };
  const put: [string, string][] = [];
  for (const [index, { place, act, text, key }] of mutations.entries()) {
    const places = placesOf(holder);
    const chosen = places[place % places.length];
    if (chosen === undefined) continue;
    const target = chosen.holder as Record<string | number, unknown>;
    const mark = `@@${index}@@`;
    if (act === 'delete') delete target[chosen.key];
    else if (act === 'repeat') target[chosen.key] = [target[chosen.key], structuredClone(target[chosen.key])];
    else if (act === 'name') rename(holder.root, `f${place % 3}`);
    else if (act === 'set') {
      target[chosen.key] = mark;
      put.push([`"${mark}"`, text]);
    } else if (!Array.isArray(chosen.holder)) {
      target[mark] = mark;
      put.push([`"${mark}":"${mark}"`, `${JSON.stringify(key)}:${text}`]);
    }
  }
  let text = JSON.stringify(holder.root) ?? 'null';
  for (const [mark, by] of put) text = text.replace(mark, () => by);
  return text;
}

function damaged(text: string, harm: { at: number; how: string; byte: number } | undefined): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(Buffer.from(text));
  if (harm === undefined) return bytes;
  const at = harm.at % Math.max(1, bytes.length);
  if (harm.how === 'cut') return bytes.slice(0, at);
  if (harm.how === 'empty') return new Uint8Array();
  if (harm.how === 'twice') return Uint8Array.from([...bytes.slice(0, 10_000), ...bytes.slice(0, 10_000)]);
  bytes[at] = harm.how === 'invalid' ? 0xff : harm.byte === 0x5c ? 0 : harm.byte;
  return bytes;
}

const protobuf = (object: ApiObject, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const field = (number: number, bytes: Uint8Array): number[] => [
    (number << 3) | 2,
    bytes.length & 0x7f,
    ...bytes.slice(0, 0x7f),
  ];
  const type = [...field(1, Buffer.from(object.apiVersion)), ...field(2, Buffer.from(object.kind))];
  return Uint8Array.from([...Buffer.from('k8s\0'), ...field(1, Uint8Array.from(type)), ...field(2, body)]);
};

const pointers = (object: ApiObject): string[] => {
  const walk = (value: unknown, path: string): string[] =>
    typeof value !== 'object' || value === null
      ? [path]
      : [path, ...Object.entries(value).flatMap(([key, item]) => walk(item, `${path}/${key}`))];
  return [
    ...walk(object, ''),
    '/metadata/labels/__proto__',
    '/spec/list/-',
    '/spec/list/01',
    '/spec/list/99999999999',
    '/constructor/prototype/x',
    'x',
    '/~2',
    '/metadata/managedFields/0/fieldsV1',
  ];
};
const jsonPatch = (object: ApiObject) =>
  fc.array(
    fc.record(
      {
        op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
        path: fc.constantFrom(...pointers(object)),
        from: fc.constantFrom(...pointers(object)),
        value: fc.constantFrom<unknown>('x', 1, null, {}, [], { name: 'b' }, { a: { b: [1] } }),
      },
      { requiredKeys: ['op'] },
    ),
    { maxLength: 4 },
  );

/** A request that is almost right. */
const request: fc.Arbitrary<Sent> = fc.constantFrom(...samples.collections).chain((collection) =>
  fc
    .record({
      method: fc.constantFrom(
        'GET',
        'POST',
        'POST',
        'POST',
        'PUT',
        'PUT',
        'PATCH',
        'PATCH',
        'PATCH',
        'PATCH',
        'DELETE',
        'HEAD',
        'OPTIONS',
      ),
      name: fc.constantFrom(
        'f',
        'f',
        'f',
        'f',
        'f0',
        'f1',
        '',
        '%2e%2e',
        '%',
        '__proto__',
        'constructor',
        'x'.repeat(300),
      ),
      sub: fc.oneof(
        { weight: 3, arbitrary: fc.constant('') },
        fc.constantFrom('', ...collection.subresources, '__proto__', 'nothing/more'),
      ),
      prefix: fc.oneof({ weight: 12, arbitrary: fc.constant('') }, fc.constantFrom('watch', 'cut', '//', 'all')),
      query: fc.oneof(fc.constant(''), query),
      types: fc.record({
        patch: headers([...PATCH_TYPES, ...PATCH_TYPES, ...PATCH_TYPES, ...values.otherTypes]),
        body: headers([...values.otherTypes, ...Array<string>(40).fill('application/json')]),
      }),
      mutations: fc.array(mutation, { maxLength: 3 }),
      harm: damage,
      operations: jsonPatch(collection.object),
      bytes: fc.uint8Array({ maxLength: 60 }),
    })
    .map(({ method, name, sub, prefix, query: asked, types, mutations, harm, operations, bytes }) => {
      const { object } = collection;
      // Without its definition the custom kind would be gone for the rest of the run.
      const named = method === 'DELETE' && object.kind === 'CustomResourceDefinition' ? 'f.other.dev' : name;
      const item = method === 'POST' && sub === '' ? '' : `/${named}`;
      let path = `${collection.path}${item}${sub === '' || item === '' ? '' : `/${sub}`}`;
      if (prefix === 'watch') path = path.replace(/^(\/api\/v1|\/apis\/[^/]+\/[^/]+)/, '$1/watch');
      if (prefix === 'cut') path = path.slice(0, path.length >> 1);
      if (prefix === '//') path = path.replaceAll('/', '//');
      if (prefix === 'all') path = path.replace('/namespaces/default', '');
      const sent = method === 'PATCH' ? types.patch : types.body;
      const type = sent['content-type'];
      const reads = method === 'GET' || method === 'HEAD';
      const base =
        type === PATCH_TYPES[0]
          ? operations
          : method === 'DELETE'
            ? { kind: 'DeleteOptions', gracePeriodSeconds: 0, propagationPolicy: 'Background' }
            : object;
      let text = mutate(base, type === PATCH_TYPES[0] ? mutations.slice(2) : mutations);
      if (/yaml/.test(type) && text.length < 20_000 && !text.includes('1e999')) text = yamlOf(text);
      const body = type === 'application/vnd.kubernetes.protobuf' ? protobuf(object, bytes) : damaged(text, harm);
      return { method, path: path + asked, headers: sent, body: reads ? undefined : body };
    }),
);

function yamlOf(text: string): string {
  try {
    return stringify(JSON.parse(text));
  } catch (error) {
    // Text that is no JSON is sent as it is: flow style reads it, or refuses it.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeAll(async () => {
  setup = await startTestPlane({ crds: [samples.crd], random: seeded() });
  await fill();
});

/** Puts every sample there, so that later requests have something to change. */
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

/** How often time may have to move on before an answer counts as never coming. */
const PATIENCE = 20;

/** Sends a request and reads its answer whole; of a watch, what comes at first. */
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
    // A version of the future is waited for.
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
  return { status: response.status, text: await response.text(), type };
}

const shown = ({ body, ...sent }: Sent): string =>
  JSON.stringify({ ...sent, body: body === undefined ? undefined : Buffer.from(body.slice(0, 2_000)).toString() });

/** What a refusal must look like. */
function checkRefusal({ status, text, type }: { status: number; text: string; type: string }): void {
  if (/json/.test(type)) {
    const body = JSON.parse(text) as Partial<{ kind: string; code: number; message: string; status: string }>;
    expect(body).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status });
    expect(body.message).toEqual(expect.any(String));
    expect(body.message).not.toMatch(UNFORESEEN);
  } else if (type === 'application/yaml') expect(text).toMatch(/^kind: Status$/m);
  // What no handler knows is plain text, as the real server's outer router has it.
  else if (status !== 404 || text !== '404 page not found\n') throw new Error(`a refusal of type ${type}: ${text}`);
}

test(`${RUNS} mutated requests from seed ${SEED}: an answer each, a Status for each refusal, nothing unforeseen`, {
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
  // The requests are worth something only while many of them are taken.
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
      // An object that an update cannot take up again was stored wrong.
      await read('PATCH', item, 'application/json', '{"metadata":{"annotations":{"seen":"yes"}}}');
    }
  }
}
