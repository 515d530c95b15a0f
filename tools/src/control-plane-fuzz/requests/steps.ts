import { defined } from '@mcm/kube';
import type { Draw } from './draw.ts';
import { bodyOf, isJsonObject, type Json, type JsonObject, raw } from './json.ts';
import type { Kind, Samples } from './kinds.ts';
import { mutateOnce } from './mutate.ts';
import { applyOf, jsonPatchOf, mergePatchOf, strategicPatchOf } from './patches.ts';
import type { Schemas } from './schema.ts';
import type { Step } from './step.ts';
import { makeValue } from './values.ts';

/** The inputs from which the steps of a case are generated. */
export interface Source {
  readonly draw: Draw;
  readonly schemas: Schemas;
  readonly samples: Samples;
}

/**
 * Kinds that change the behavior of all other objects, or whose objects the real server writes at any time. Their requests
 * contain `dryRun=All`, so that cases do not affect each other.
 */
const GUARDED = /^(admissionregistration|apiregistration|apiextensions|flowcontrol)\.|\/(ServiceCIDR|IPAddress)$/;
export const isGuarded = ({ apiVersion, kind }: Kind): boolean => GUARDED.test(`${apiVersion}/${kind}`);

/** Whether an object sets a default for the whole cluster, which would affect other cases. */
const changesDefaults = (text: string): boolean => /is-default-class|globalDefault|default-class/.test(text);

const nameOf = (draw: Draw, kind: Kind): string => {
  const metadata = kind.samples[0]?.['metadata'];
  const own = isJsonObject(metadata) ? String(metadata['name']) : 'a';
  const name =
    own === 'a'
      ? draw.weigh([
          [7, 'a'],
          [3, 'b'],
        ])
      : own; // prettier-ignore
  return kind.namespaced || own !== 'a' ? name : `${name}-\${id}`;
};

/** A valid object of the kind with this name. It has the label that lists of the case select. */
function sampleOf(draw: Draw, kind: Kind, name: string): JsonObject {
  const object = structuredClone(draw.pick(kind.samples)) as JsonObject;
  const metadata = object['metadata'] as JsonObject;
  metadata['name'] = name;
  if (!kind.namespaced) metadata['labels'] = { ...(metadata['labels'] as JsonObject | undefined), fuzz: '${id}' };
  return object;
}

/** Changes an object zero to three times. Most errors then have a single cause, so that they can be compared completely. */
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

function target(path: string, query: readonly string[]): string {
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** A step with a body. It is a dry run if the kind or the body requires that. */
function send(kind: Kind, request: string, query: readonly string[], value: Json, type?: string): Step {
  const body = bodyOf(value);
  const guarded = isGuarded(kind) || changesDefaults(JSON.stringify(value));
  const all = guarded ? [...query.filter((each) => !each.startsWith('dryRun=')), 'dryRun=All'] : query;
  return {
    request: target(request, all),
    headers: type === undefined ? undefined : { 'content-type': type },
    ...body,
  };
}

const create = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  const object = mutated(source, kind, sampleOf(draw, kind, nameOf(draw, kind)));
  return [send(kind, `POST ${kind.collection}`, write(draw), object)];
};

/** Creates an object that later steps can use. */
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
  return [get, send(kind, `PUT ${path}`, write(draw), mutated(source, kind, object))];
};

/** A patch of a random type, generated from `object`. */
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
  if (draw.chance(0.1)) return [{ request: `GET ${path}` }];
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
    [1, () => [get]],
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
  if (draw.chance(0.6)) return [{ request: target(`DELETE ${path}`, query) }];
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

const SELECTORS = [
  'app=x',
  'app!=x',
  'app in (x,y)',
  'app notin (x)',
  '!app',
  'app',
  'app=',
  'a=(',
  'a b',
  'app=x,fuzz',
  'x y=z',
  'app>1',
  '=',
  'A/b/c=d',
];
const FIELDS = [
  'metadata.name=a',
  'metadata.name!=a',
  'metadata.name=a,metadata.name=b',
  'status.phase=Running',
  'spec.nodeName=',
  'metadata.namespace=${ns}',
  'bogus=1',
  'metadata.name',
  'type=Opaque',
  'spec.color=green',
  'spec.size=3',
  'spec.unschedulable=true',
  'reason=R',
];
const ACCEPTS = [
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
];

/** The query of a list: the label of the case for cluster-wide objects, and everything for a namespace. */
const own = (kind: Kind, more?: string): string[] => {
  const all = [...(kind.namespaced ? [] : ['fuzz=${id}']), ...(more === undefined ? [] : [more])];
  return all.length === 0
    ? []
    : [
        `labelSelector=${all
          .map((each) => encodeURIComponent(each))
          .join(',')
          .replaceAll('%24%7Bid%7D', '${id}')}`,
      ]; // prettier-ignore
};

const list = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const query = own(kind, draw.chance(0.3) ? draw.pick(SELECTORS) : undefined);
  if (draw.chance(0.25))
    query.push(`fieldSelector=${encodeURIComponent(draw.pick(FIELDS)).replaceAll('%24%7Bns%7D', '${ns}')}`); // prettier-ignore
  if (draw.chance(0.2))
    query.push(
      draw.pick([
        'resourceVersion=0',
        'resourceVersion=1&resourceVersionMatch=NotOlderThan',
        'resourceVersionMatch=Exact',
        'resourceVersion=x',
        'resourceVersion=0&resourceVersionMatch=Exact',
        'resourceVersionMatch=x&resourceVersion=1',
      ]),
    ); // prettier-ignore
  const headers = draw.chance(0.35) ? { headers: { accept: draw.pick(ACCEPTS) } } : {};
  if (draw.chance(0.25)) {
    const first = [...query, `limit=${draw.pick(['1', '2', '0', '-1', 'x'])}`];
    const next = [...own(kind), 'limit=1', 'continue=${next}'];
    return [
      { request: target(`GET ${kind.collection}`, first), capture: { next: 'metadata.continue' } },
      ...(draw.chance(0.6) ? [{ request: target(`GET ${kind.collection}`, next) }] : []),
    ];
  }
  return [{ request: target(`GET ${kind.collection}`, query), ...headers }];
};

const get = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const path = `GET ${kind.collection}/${nameOf(draw, kind)}`;
  const headers = draw.chance(0.4) ? { headers: { accept: draw.pick([...ACCEPTS, 'application/yaml']) } } : {};
  return [
    { request: target(path, draw.chance(0.05) ? [`resourceVersion=${draw.pick(['0', 'x', '1'])}`] : []), ...headers },
  ];
};

const removeAll = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const query = own(kind, draw.chance(0.5) ? draw.pick(SELECTORS) : undefined);
  if (isGuarded(kind) || draw.chance(0.3)) query.push('dryRun=All');
  if (draw.chance(0.2)) query.push(`propagationPolicy=${draw.pick(['Foreground', 'Orphan', 'Background'])}`);
  return [{ request: target(`DELETE ${kind.collection}`, query) }];
};

/** Steps for a subresource, which has its own body and rules. */
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

/** The next steps of a case: one request, or two requests if the second one uses the answer of the first one. */
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
    [kind.verbs.includes('deletecollection') ? 1.5 : 0, () => removeAll(source, kind)],
  ])(); // prettier-ignore
}
