import type { Draw } from './draw.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { Kind } from './kinds.ts';

/** Returns a random part of a JSON value: a few keys of each object, and some items of lists. */
function sprout(draw: Draw, value: Json, items: boolean, depth = 0): Json {
  if (Array.isArray(value))
    return items ? value.filter(() => draw.chance(0.6)).map((item) => sprout(draw, item, items, depth + 1)) : value;
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  const share = depth === 0 ? 0.5 : Math.max(0.25, 1.5 / Math.max(1, entries.length));
  return Object.fromEntries(
    entries
      .filter(([key]) => ['name', 'key', 'containerPort', 'type'].includes(key) || draw.chance(share))
      .map(([key, item]) => [key, sprout(draw, item, items, depth + 1)]),
  );
}

function holdersOf(value: Json, found: JsonObject[] = []): readonly JsonObject[] {
  if (isJsonObject(value)) found.push(value);
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) holdersOf(item, found);
  return found;
}

/** Replaces some values with null, because a merge patch deletes fields with null. */
function withNulls(draw: Draw, value: Json): Json {
  for (const holder of holdersOf(value))
    for (const key of Object.keys(holder)) if (draw.chance(0.06)) holder[key] = null;
  return value;
}

const withoutType = ({ apiVersion: _, kind: __, ...rest }: JsonObject): JsonObject => rest;

export function mergePatchOf(draw: Draw, object: JsonObject): Json {
  if (draw.chance(0.03)) return draw.pick<Json>([null, [], 'x', 1, {}]);
  return withNulls(draw, sprout(draw, draw.chance(0.15) ? object : withoutType(object), false));
}

const DIRECTIVES: readonly JsonObject[] = [
  { $patch: 'delete' },
  { $patch: 'replace' },
  { $patch: 'merge' },
  { $patch: 'x' },
  { $retainKeys: ['name'] },
  { $retainKeys: ['type'] },
  { '$deleteFromPrimitiveList/finalizers': ['example.dev/f'] },
  { '$setElementOrder/containers': [{ name: 'd' }, { name: 'c' }] },
  { '$setElementOrder/ports': [{ port: 81 }, { port: 80 }] },
  { '$setElementOrder/finalizers': ['example.dev/f'] },
  { '$setElementOrder/env': [{ name: 'B' }, { name: 'A' }] },
  { '$setElementOrder/containers': [{ name: 'c' }] },
  { '$setElementOrder/containers': 'x' },
  { '$deleteFromPrimitiveList/finalizers': 'x' },
  { '$deleteFromPrimitiveList/args': ['-v'] },
  { $patch: 1 },
  { $patch: null },
  { $retainKeys: 'type' },
  { $retainKeys: [1] },
];

const ITEMS: readonly JsonObject[] = [
  { $patch: 'delete', name: 'c' },
  { $patch: 'delete', name: 'b' },
  { $patch: 'delete', containerPort: 80 },
  { $patch: 'delete', type: 'Ready' },
  { $patch: 'replace' },
  { $patch: 'merge', name: 'c' },
  { $patch: 'x', name: 'c' },
  { $patch: 'delete' },
];

function listsOf(value: Json, found: Json[][] = []): readonly Json[][] {
  if (Array.isArray(value) && value.some(isJsonObject)) found.push(value);
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) listsOf(item, found);
  return found;
}

export function strategicPatchOf(draw: Draw, object: JsonObject): Json {
  if (draw.chance(0.03)) return draw.pick<Json>([null, [], 'x', 1, {}]);
  const patch = withNulls(draw, sprout(draw, draw.chance(0.15) ? object : withoutType(object), true));
  if (draw.chance(0.3)) Object.assign(draw.pick([...holdersOf(patch)]) ?? {}, structuredClone(draw.pick(DIRECTIVES)));
  const lists = listsOf(patch);
  if (lists.length > 0 && draw.chance(0.2)) draw.pick(lists).splice(0, draw.int(2), structuredClone(draw.pick(ITEMS)));
  return patch;
}

export function applyOf(draw: Draw, { apiVersion, kind }: Kind, object: JsonObject): Json {
  const whole = draw.chance(0.4) ? object : (sprout(draw, object, true) as JsonObject);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const given = isJsonObject(whole['metadata']) ? whole['metadata'] : {};
  const named: JsonObject = 'name' in metadata ? { ...given, name: metadata['name'] ?? null } : given;
  return draw.chance(0.97) ? { ...whole, apiVersion, kind, metadata: named } : whole;
}

function pointersOf(value: Json, path = ''): readonly { readonly path: string; readonly value: Json }[] {
  const own = { path, value };
  if (typeof value !== 'object' || value === null) return [own];
  return [
    own,
    ...Object.entries(value).flatMap(([key, item]) =>
      pointersOf(item, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ),
  ];
}

const ODD = [
  '/metadata/labels/x',
  '/metadata/annotations/y',
  '/spec/-',
  '/spec/containers/-',
  '/spec/containers/5',
  '/metadata/finalizers/-',
  'x',
  '/bogus/x',
  '/metadata/uid',
  '/metadata/resourceVersion',
  '/kind',
  '/status',
]; // prettier-ignore

export function jsonPatchOf(draw: Draw, object: JsonObject): Json {
  if (draw.chance(0.03)) return draw.pick<Json>([null, {}, 'x', [{}], [1]]);
  const pointers = pointersOf(object).slice(1);
  const pick = (): { readonly path: string; readonly value: Json } =>
    draw.chance(0.15) || pointers.length === 0 ? { path: draw.pick(ODD), value: 'x' } : draw.pick(pointers);
  const operation = (): Json => {
    const { path, value } = pick();
    const op = draw.weigh([
      [4, 'add'],
      [4, 'replace'],
      [3, 'remove'],
      [2, 'test'],
      [1, 'copy'],
      [1, 'move'],
      [0.2, 'x'],
    ]); // prettier-ignore
    if (op === 'copy' || op === 'move') return { op, from: path, path: pick().path };
    if (op === 'remove') return { op, path };
    return { op, path, value: draw.chance(0.7) ? value : draw.pick<Json>([null, 'x', 1, {}, []]) };
  };
  return Array.from({ length: 1 + draw.int(3) }, operation);
}
