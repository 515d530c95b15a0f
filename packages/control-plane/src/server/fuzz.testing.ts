import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { encodeProtobuf, hasProtobuf } from '../protobuf/index.ts';

interface Collection {
  readonly path: string;
  readonly subresources: readonly string[];
  readonly object: ApiObject;
}
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

export const samples = JSON.parse(
  readFileSync(new URL('../../testdata/fuzz/samples.json', import.meta.url), 'utf8'),
) as {
  readonly crd: object;
  readonly collections: readonly Collection[];
};

/** No key contains a backslash, because V8 misreads some of these keys. */
export const values = JSON.parse(
  readFileSync(new URL('../../testdata/fuzz/values.json', import.meta.url), 'utf8'),
) as Record<'texts' | 'keys' | 'words' | 'tokens' | 'queryKeys' | 'accepts' | 'otherTypes', readonly string[]>;
/** Texts of JSON, some of which `JSON.stringify` never returns. */
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

const mutation = fc.record({
  place: fc.nat(10_000),
  act: fc.constantFrom('set', 'set', 'set', 'delete', 'add', 'repeat', 'name'),
  text: fc.constantFrom(...TEXTS),
  key: fc.constantFrom(...values.keys),
});
type Harm = { readonly at: number; readonly how: string; readonly byte: number } | undefined;
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

/**
 * Returns the text of a mutated object. The text contains placeholders first, because many replacements are not
 * JavaScript values.
 */
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

function damaged(text: string, harm: Harm): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(Buffer.from(text));
  if (harm === undefined) return bytes;
  const at = harm.at % Math.max(1, bytes.length);
  if (harm.how === 'cut') return bytes.slice(0, at);
  if (harm.how === 'empty') return new Uint8Array();
  if (harm.how === 'twice') return Uint8Array.from([...bytes.slice(0, 10_000), ...bytes.slice(0, 10_000)]);
  bytes[at] = harm.how === 'invalid' ? 0xff : harm.byte === 0x5c ? 0 : harm.byte;
  return bytes;
}

function protobuf(object: ApiObject, text: string, noise: Uint8Array, harm: Harm): Uint8Array<ArrayBuffer> {
  const known = hasProtobuf(object.apiVersion, object.kind) && noise.length % 2 === 0;
  const mutated = known ? parsed(text) : undefined;
  if (mutated !== undefined) {
    const whole = encodeProtobuf({ ...mutated, apiVersion: object.apiVersion, kind: object.kind });
    return harm === undefined
      ? Uint8Array.from(whole)
      : (whole.slice(0, harm.at % whole.length) as Uint8Array<ArrayBuffer>);
  }
  const field = (number: number, bytes: Uint8Array): number[] => [
    (number << 3) | 2,
    bytes.length & 0x7f,
    ...bytes.slice(0, 0x7f),
  ];
  const type = [...field(1, Buffer.from(object.apiVersion)), ...field(2, Buffer.from(object.kind))];
  return Uint8Array.from([...Buffer.from('k8s\0'), ...field(1, Uint8Array.from(type)), ...field(2, noise)]);
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

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

/** Generates requests that are almost valid, because completely random requests fail early. */
export const request: fc.Arbitrary<Sent> = fc.constantFrom(...samples.collections).chain((collection) =>
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
      // The test never deletes the CRD, because later requests could not use the custom kind then.
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
      const body =
        type === 'application/vnd.kubernetes.protobuf' ? protobuf(object, text, bytes, harm) : damaged(text, harm);
      return { method, path: path + asked, headers: sent, body: reads ? undefined : body };
    }),
);

function yamlOf(text: string): string {
  try {
    return stringify(JSON.parse(text));
  } catch (error) {
    // The test sends a text that is not JSON unchanged.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
