import { defined } from '@mcm/kube';
import type { Draw } from './draw.ts';
import { bodyOf, isJsonObject, type Json, type JsonObject, raw } from './json.ts';
import type { Kind } from './kinds.ts';
import { mutateOnce } from './mutate.ts';
import { applyOf, jsonPatchOf, mergePatchOf, strategicPatchOf } from './patches.ts';
import { accepting, fieldSelector, get, list, oddVerb, own, SELECTORS, watchNow } from './reads.ts';
import { isGuarded, nameOf, type Source, target } from './source.ts';
import type { Step } from './step.ts';
import { makeValue } from './values.ts';

/** Returns true if an object sets a default for the whole cluster, because the default would affect other cases. */
const changesDefaults = (text: string): boolean => /is-default-class|globalDefault|default-class/.test(text);

/** Returns a valid object of a kind. */
function sampleOf(draw: Draw, kind: Kind, name: string): JsonObject {
  const object = structuredClone(draw.pick(kind.samples)) as JsonObject;
  const metadata = object['metadata'] as JsonObject;
  metadata['name'] = name;
  if (!kind.namespaced) metadata['labels'] = { ...(metadata['labels'] as JsonObject | undefined), fuzz: '${id}' };
  return object;
}

/**
 * Changes a valid object at zero to three random positions. With few changes, most errors have one cause, so the error
 * messages of both servers can be compared completely.
 */
function mutated({ draw, schemas }: Source, kind: Kind, object: JsonObject): JsonObject {
  for (
    let count = draw.weigh([
      [3, 0],
      [5, 1],
      [2, 2],
      [1, 3],
    ]);
    count > 0;
    count -= 1 // prettier-ignore
  )
    mutateOnce(draw, schemas, object, kind.schema);
  return object;
}

const write = (draw: Draw): string[] => [
  ...(draw.chance(0.15) ? [`fieldValidation=${draw.pick(['Strict', 'Warn', 'Ignore', 'x'])}`] : []),
  ...(draw.chance(0.06) ? [`dryRun=${draw.pick(['All', 'All', 'None', ''])}`] : []),
  ...(draw.chance(0.15) ? [`fieldManager=${draw.pick(['m1', 'm2', 'a'.repeat(129), ''])}`] : []),
];

/** Returns a request with a body. If the kind or the body could affect other cases, the request is a dry run. */
function send(
  kind: Kind,
  request: string,
  query: readonly string[],
  value: Json,
  type?: string,
  written: Readonly<Record<string, string>> = {},
): Step {
  const body = bodyOf(value);
  const guarded = isGuarded(kind) || changesDefaults(JSON.stringify(value));
  const all = guarded ? [...query.filter((each) => !each.startsWith('dryRun=')), 'dryRun=All'] : query;
  const headers = type === undefined ? written : { ...written, 'content-type': type };
  return { request: target(request, all), headers: Object.keys(headers).length === 0 ? undefined : headers, ...body };
}

/** A JSON body may also have a YAML content type, because every JSON text is YAML. */
const TYPES = [
  'application/yaml',
  'application/json',
  'text/plain',
  'application/json;charset=utf-8',
  'application/merge-patch+json',
];

const create = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const object = mutated(source, kind, sampleOf(draw, kind, nameOf(draw, kind)));
  return [
    send(
      kind,
      `POST ${kind.collection}`,
      write(draw),
      object,
      draw.chance(0.04) ? draw.pick(TYPES) : undefined,
      accepting(draw, 0.06),
    ),
  ];
};

/** Returns a request that creates a valid object for later steps. */
export const createValid = ({ draw }: Source, kind: Kind): Step =>
  send(kind, `POST ${kind.collection}`, [], sampleOf(draw, kind, nameOf(draw, kind)));

const update = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const name = nameOf(draw, kind);
  const path = `${kind.collection}/${name}`;
  const get: Step = { request: `GET ${path}`, capture: { rv: 'metadata.resourceVersion', whole: '' } };
  if (draw.chance(0.1)) return [get, send(kind, `PUT ${path}`, [], '${whole}')];
  const object = sampleOf(draw, kind, name);
  const metadata = object['metadata'] as JsonObject;
  if (draw.chance(0.8)) metadata['resourceVersion'] = '${rv}';
  return [get, send(kind, `PUT ${path}`, write(draw), mutated(source, kind, object), undefined, accepting(draw, 0.06))];
};

/** Derives a patch of a random type from an object. */
function patchOf(source: Source, kind: Kind, object: JsonObject, path: string): Step {
  const { draw } = source;
  const query = write(draw);
  const how = draw.weigh([
    [4, 'merge'],
    [3, 'json'],
    [kind.builtIn ? 4 : 0.3, 'strategic'],
    [6, 'apply'],
  ]); // prettier-ignore
  if (how === 'apply') {
    const rest = query.filter((each) => !each.startsWith('fieldManager'));
    if (draw.chance(0.97)) rest.push(`fieldManager=${draw.pick(['m1', 'm2', 'm3'])}`);
    if (draw.chance(0.35)) rest.push(`force=${draw.pick(['true', 'true', 'false', '1'])}`);
    return send(kind, path, rest, applyOf(draw, kind, object), 'application/apply-patch+yaml');
  }
  if (how === 'merge') return send(kind, path, query, mergePatchOf(draw, object), 'application/merge-patch+json');
  if (how === 'json') return send(kind, path, query, jsonPatchOf(draw, object), 'application/json-patch+json');
  return send(kind, path, query, strategicPatchOf(draw, object), 'application/strategic-merge-patch+json');
}

const patch = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const name = nameOf(draw, kind);
  const object = mutated(source, kind, sampleOf(draw, kind, name));
  return [patchOf(source, kind, object, `PATCH ${kind.collection}/${name}`)];
};

const status = (source: Source, kind: Kind): readonly Step[] => {
  const { draw, schemas } = source;
  const name = nameOf(draw, kind);
  const path = `${kind.collection}/${name}/status`;
  const object = sampleOf(draw, kind, name);
  const schema = schemas.resolve(kind.schema).schema.properties?.['status'] ?? {};
  if (object['status'] === undefined || draw.chance(0.7)) object['status'] = makeValue(draw, schemas, schema, 'status');
  if (draw.chance(0.3)) mutateOnce(draw, schemas, object, kind.schema);
  if (draw.chance(0.1)) return [{ request: `GET ${path}`, headers: accepting(draw, 0.5) }];
  if (draw.chance(0.4)) {
    const get: Step = { request: `GET ${path}`, capture: { rv: 'metadata.resourceVersion' } };
    const metadata = object['metadata'];
    if (isJsonObject(metadata) && draw.chance(0.9)) metadata['resourceVersion'] = '${rv}';
    return [get, send(kind, `PUT ${path}`, write(draw), object)];
  }
  const part: JsonObject = draw.chance(0.9) ? { status: object['status'] ?? null } : object;
  return [patchOf(source, kind, { ...part, metadata: { name } }, `PATCH ${path}`)];
};

const scale = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const name = nameOf(draw, kind);
  const path = `${kind.collection}/${name}/scale`;
  const replicas = draw.pick<Json>([0, 1, 3, 5, 5, 2147483647, -1, raw('2147483648'), 'x', null, 1.5]);
  const get: Step = { request: `GET ${path}`, capture: { rv: 'metadata.resourceVersion' } };
  const type = { apiVersion: 'autoscaling/v1', kind: 'Scale' };
  const spec: JsonObject = draw.chance(0.9) ? { replicas } : {};
  return draw.weigh<() => readonly Step[]>([
    [1, () => [{ ...get, headers: accepting(draw, 0.3) }]],
    [
      3,
      () => {
        const metadata: JsonObject = defined({
          name: draw.weigh([
            [9, name],
            [1, 'other'],
          ]),
          resourceVersion: draw.chance(0.6) ? '${rv}' : undefined,
        });
        return [get, send(kind, `PUT ${path}`, write(draw), { ...type, metadata, spec })];
      },
    ],
    [
      3,
      () => [
        send(
          kind,
          `PATCH ${path}`,
          write(draw),
          draw.chance(0.8) ? { spec } : { ...type, metadata: { name }, spec, status: { replicas: 9 } },
          'application/merge-patch+json',
        ),
      ],
    ],
    [1, () => [send(kind, `PATCH ${path}`, write(draw), { spec }, 'application/strategic-merge-patch+json')]],
    [
      1,
      () => [
        send(
          kind,
          `PATCH ${path}`,
          write(draw),
          [{ op: draw.pick(['replace', 'add', 'test', 'remove']), path: '/spec/replicas', value: replicas }],
          'application/json-patch+json',
        ),
      ],
    ],
    [
      2,
      () => [
        send(
          kind,
          `PATCH ${path}`,
          [`fieldManager=${draw.pick(['m1', 'm2'])}`, ...(draw.chance(0.5) ? ['force=true'] : [])],
          { ...type, metadata: { name }, spec },
          'application/apply-patch+yaml',
        ),
      ],
    ],
  ])(); // prettier-ignore
};

const OPTIONS = { apiVersion: 'v1', kind: 'DeleteOptions' };

const remove = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const path = `${kind.collection}/${nameOf(draw, kind)}`;
  const get: Step = { request: `GET ${path}`, capture: { rv: 'metadata.resourceVersion', uid: 'metadata.uid' } };
  const query = draw.weigh<string[]>([
    [6, []],
    [1, ['gracePeriodSeconds=0']],
    [1, [`gracePeriodSeconds=${draw.pick(['5', '-1', 'x', '1'])}`]],
    [2, [`propagationPolicy=${draw.pick(['Foreground', 'Background', 'Orphan', 'x'])}`]],
    [1, ['dryRun=All']],
    [0.5, ['orphanDependents=true']],
  ]);
  if (isGuarded(kind)) query.push('dryRun=All');
  if (draw.chance(0.6)) return [{ request: target(`DELETE ${path}`, query), headers: accepting(draw, 0.1) }];
  const options = draw.pick<JsonObject>([
    {},
    { preconditions: { uid: '${uid}' } },
    { preconditions: { resourceVersion: '${rv}' } },
    { preconditions: { uid: '00000000-0000-0000-0000-000000000009' } },
    { preconditions: { uid: '${uid}', resourceVersion: '1' } },
    { propagationPolicy: draw.pick(['Foreground', 'Orphan', 'Background', 'x', '']) },
    { gracePeriodSeconds: draw.pick<Json>([0, 1, 30, -1, 'x']) },
    { dryRun: ['All'] },
    { dryRun: ['x'] },
    { orphanDependents: false },
    { orphanDependents: true, propagationPolicy: 'Foreground' },
    { bogus: 1 },
    { kind: 'X' },
  ]); // prettier-ignore
  return [get, { request: target(`DELETE ${path}`, query), ...bodyOf({ ...OPTIONS, ...options }) }];
};

const removeAll = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const query = own(kind, draw.chance(0.5) ? draw.pick(SELECTORS) : undefined);
  if (draw.chance(0.2)) query.push(fieldSelector(draw));
  if (draw.chance(0.1)) query.push(`limit=${draw.pick(['1', '0', '-1', 'x'])}`);
  if (draw.chance(0.1)) query.push(`resourceVersion=${draw.pick(['0', 'x'])}`);
  if (draw.chance(0.1)) query.push(`gracePeriodSeconds=${draw.pick(['0', '-1', 'x'])}`);
  if (isGuarded(kind) || draw.chance(0.3)) query.push('dryRun=All');
  if (draw.chance(0.2)) query.push(`propagationPolicy=${draw.pick(['Foreground', 'Orphan', 'Background'])}`);
  return [{ request: target(`DELETE ${kind.collection}`, query) }];
};

const part = (source: Source, kind: Kind, subresource: string): readonly Step[] => {
  const { draw, schemas, samples } = source;
  const name = nameOf(draw, kind);
  const path = `${kind.collection}/${name}/${subresource}`;
  const sample = samples.subresources[`${kind.apiVersion}/${kind.resource}/${subresource}`];
  if (sample === undefined) return [];
  const body = structuredClone(sample) as JsonObject;
  if (isJsonObject(body['metadata'])) body['metadata']['name'] = name;
  const posted = ['eviction', 'binding', 'token'].includes(subresource);
  const schema = posted ? schemas.of(String(body['apiVersion']), String(body['kind'])) : kind.schema;
  for (let count = draw.int(3); count > 0; count -= 1) mutateOnce(draw, schemas, body, schema);
  if (posted) return [send(kind, `POST ${path}`, write(draw), body)];
  if (draw.chance(0.4) || subresource === 'finalize') {
    const object = { ...sampleOf(draw, kind, name), ...body, metadata: { name } };
    return [send(kind, `PUT ${path}`, write(draw), object)];
  }
  return [patchOf(source, kind, { metadata: { name }, ...body }, `PATCH ${path}`)];
};

export const review = ({ draw, schemas, samples }: Source, kind: Kind): readonly Step[] => {
  const { collection, object } = draw.pick(samples.reviews);
  const body = structuredClone(object) as JsonObject;
  const schema = schemas.of(String(body['apiVersion']), String(body['kind']));
  for (let count = draw.int(3); count > 0; count -= 1) mutateOnce(draw, schemas, body, schema);
  return [send({ ...kind, apiVersion: 'v1' }, `POST ${collection}`, write(draw), body)];
};

/** Returns the next steps of a case: one request, or two requests of which the second uses the first response. */
export function nextSteps(source: Source, kind: Kind): readonly Step[] {
  const { draw } = source;
  const others = kind.subresources.filter(
    (each) => !['status', 'scale', 'proxy', 'log', 'exec', 'attach', 'portforward'].includes(each),
  ); // prettier-ignore
  const has = (subresource: string): boolean => kind.subresources.includes(subresource);
  return draw.weigh<() => readonly Step[]>([
    [14, () => create(source, kind)],
    [14, () => update(source, kind)],
    [24, () => patch(source, kind)],
    [has('status') ? 9 : 0, () => status(source, kind)],
    [has('scale') ? 7 : 0, () => scale(source, kind)],
    [others.length > 0 ? 7 : 0, () => part(source, kind, draw.pick(others))],
    [6, () => remove(source, kind)],
    [6, () => get(source, kind)],
    [7, () => list(source, kind)],
    [isGuarded(kind) ? 0 : 1, () => watchNow(source, kind)],
    [0.7, () => oddVerb(source, kind)],
    [kind.verbs.includes('deletecollection') ? 1.5 : 0, () => removeAll(source, kind)],
  ])(); // prettier-ignore
}
