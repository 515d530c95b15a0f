import type { Draw } from './draw.ts';
import type { Kind } from './kinds.ts';
import { isGuarded, nameOf, type Source, target } from './source.ts';
import type { Step } from './step.ts';

export const SELECTORS = [
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
  'metadata.name=a-${id}',
  'status.phase=Running',
  'status.phase=Active',
  'status.phase!=Pending',
  'spec.nodeName=',
  'spec.nodeName!=n',
  'spec.restartPolicy=Always',
  'spec.schedulerName=x',
  'spec.serviceAccountName=default',
  'spec.hostNetwork=false',
  'status.podIP=',
  'status.nominatedNodeName=',
  'spec.signerName=example.dev/s',
  'spec.clusterIP=None',
  'spec.type=ClusterIP',
  'spec.parentRef.name=x',
  'status.replicas=0',
  'status.successful=0',
  'status.successful!=1',
  'involvedObject.name=o',
  'involvedObject.kind=Pod,reason=R',
  'regarding.name=o',
  'reportingComponent=c',
  'reportingController=c',
  'source=c',
  'metadata.namespace=${ns}',
  'metadata.namespace!=${ns}',
  'bogus=1',
  'bogus!=1',
  'metadata.name',
  'metadata.name==a',
  'metadata.name=a\\,b',
  'metadata.name=a\\',
  ',',
  'type=Opaque',
  'spec.color=green',
  'spec.size=3',
  'spec.unschedulable=true',
  'reason=R',
];
const as = (form: string, version = 'v1'): string => `application/json;as=${form};v=${version};g=meta.k8s.io`;
const ACCEPTS = [
  as('Table'),
  as('Table'),
  as('Table'),
  as('Table', 'v1beta1'),
  as('Table', 'v2'),
  `${as('Table')},application/json`,
  as('PartialObjectMetadataList'),
  as('PartialObjectMetadata'),
  as('PartialObjectMetadata', 'v1beta1'),
  as('PartialObjectMetadataList', 'v1beta1'),
  as('Other'),
  'application/xml',
  'application/xml, application/json',
  '*/*',
  'application/yaml',
];

/** With a given probability, returns an `Accept` header for a table or for only the metadata. */
export const accepting = (draw: Draw, probability: number): Readonly<Record<string, string>> =>
  draw.chance(probability) ? { accept: draw.pick(ACCEPTS) } : {};

/** Variables of the battery, such as `${ns}`, are not encoded. */
const encoded = (value: string): string => encodeURIComponent(value).replaceAll(/%24%7B(\w+)%7D/g, '$${$1}');

export const fieldSelector = (draw: Draw): string => `fieldSelector=${encoded(draw.pick(FIELDS))}`;

/**
 * Returns the query for a list request of a fuzz case. A list of cluster-wide objects selects the label of the case,
 * because other cases create objects at the same time.
 */
export const own = (kind: Kind, more?: string): string[] => {
  const all = [...(kind.namespaced ? [] : ['fuzz=${id}']), ...(more === undefined ? [] : [more])];
  return all.length === 0 ? [] : [`labelSelector=${all.map(encoded).join(',')}`];
};

const VERSIONS = [
  'resourceVersion=0',
  'resourceVersion=',
  'resourceVersion=1&resourceVersionMatch=NotOlderThan',
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=Exact',
  'resourceVersion=x',
  'resourceVersion=-1',
  'resourceVersion=99999999999999999999',
  'resourceVersion=0&resourceVersionMatch=Exact',
  'resourceVersionMatch=x&resourceVersion=1',
  'sendInitialEvents=true',
  'sendInitialEvents=x',
  'resourceVersion=1&resourceVersionMatch=NotOlderThan&continue=x',
  'continue=x',
  'timeoutSeconds=5',
  'timeoutSeconds=x',
  'allowWatchBookmarks=true',
  'pretty=true',
];

const tableQuery = (draw: Draw): string[] =>
  draw.chance(0.15) ? [`includeObject=${draw.pick(['Object', 'None', 'Metadata', 'x', ''])}`] : [];

const listAtVersion = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const match = draw.pick(['Exact', 'NotOlderThan', 'Exact', 'x']);
  const limit = draw.chance(0.4) ? [`limit=${draw.pick(['1', '5'])}`] : [];
  return [
    { request: `GET ${kind.collection}/${nameOf(draw, kind)}`, capture: { rv: 'metadata.resourceVersion' } },
    {
      request: target(`GET ${kind.collection}`, [
        ...own(kind),
        `resourceVersion=\${rv}&resourceVersionMatch=${match}`,
        ...limit,
      ]),
    },
  ];
};

export const list = (source: Source, kind: Kind): readonly Step[] => {
  const { draw } = source;
  if (draw.chance(0.08) && !isGuarded(kind)) return listAtVersion(source, kind);
  const query = own(kind, draw.chance(0.3) ? draw.pick(SELECTORS) : undefined);
  if (draw.chance(0.25)) query.push(fieldSelector(draw));
  if (draw.chance(0.2)) query.push(draw.pick(VERSIONS));
  query.push(...tableQuery(draw));
  const headers = accepting(draw, 0.4);
  // In a list of all namespaces, the fuzzer compares only the objects of its own case.
  if (kind.namespaced && draw.chance(0.08)) {
    const everywhere = kind.collection.replace('/namespaces/${ns}', '');
    return [{ request: target(`GET ${everywhere}`, ['fieldSelector=metadata.namespace=${ns}']), headers }];
  }
  if (draw.chance(0.25)) {
    const first = [...query, `limit=${draw.pick(['1', '2', '0', '-1', 'x'])}`];
    const next = [...own(kind), `limit=${draw.pick(['1', '1', '0'])}`, 'continue=${next}'];
    return [
      { request: target(`GET ${kind.collection}`, first), capture: { next: 'metadata.continue' } },
      ...(draw.chance(0.6) ? [{ request: target(`GET ${kind.collection}`, next), headers }] : []),
    ];
  }
  return [{ request: target(`GET ${kind.collection}`, query), headers }];
};

export const get = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const path = `GET ${kind.collection}/${nameOf(draw, kind)}`;
  const query = [
    ...(draw.chance(0.05) ? [`resourceVersion=${draw.pick(['0', 'x', '1', ''])}`] : []),
    ...tableQuery(draw),
  ];
  return [{ request: target(path, query), headers: accepting(draw, 0.45) }];
};

const WATCHES = [
  '',
  'resourceVersion=0',
  'resourceVersion=x',
  'resourceVersionMatch=NotOlderThan',
  'sendInitialEvents=true',
  'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0',
  'sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1',
  'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${rv}',
  'sendInitialEvents=false',
  'resourceVersion=${rv}',
  'resourceVersion=${rv}&resourceVersionMatch=NotOlderThan',
  'limit=1',
  'continue=x',
  'labelSelector=a%3D(',
];

/**
 * Returns a watch request that starts with the present object. The watch covers only one object, because Kubernetes
 * does not define the order of several initial events.
 */
export const watchNow = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const name = nameOf(draw, kind);
  const path = `${kind.collection}/${name}`;
  const query = [
    `watch=${draw.pick(['true', '1'])}`,
    `fieldSelector=${encoded(`metadata.name=${name}`)}`,
    draw.pick(WATCHES),
  ];
  const change: Step = {
    request: target(`PATCH ${path}`, []),
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { annotations: { watched: draw.pick(['a', 'b']) } } },
  };
  return [
    { request: `GET ${path}`, capture: { rv: 'metadata.resourceVersion' } },
    {
      request: target(
        `GET ${kind.collection}`,
        query.filter((each) => each !== ''),
      ),
      headers: accepting(draw, 0.3),
      watch: 'now',
    },
    ...(draw.chance(0.6) ? [change] : []),
    { events: 'now' },
  ];
};

/** Returns a request with an unsupported HTTP method, or with a path that does not exist. */
export const oddVerb = ({ draw }: Source, kind: Kind): readonly Step[] => {
  const { collection } = kind;
  const path = `${collection}/${nameOf(draw, kind)}`;
  const request = draw.pick([
    `POST ${path}`,
    `PUT ${collection}`,
    `PATCH ${collection}`,
    `HEAD ${path}`,
    `OPTIONS ${path}`,
    `GET ${path}/bogus`,
    `GET ${path}/status/x`,
    `DELETE ${path}/status`,
    `POST ${path}/status`,
    `DELETE ${path}/scale`,
    `PUT ${path}/bogus`,
    // Without a label selector, the list would contain objects of other cases, and objects that the servers create at
    // their start.
    target(`GET ${collection}/`, own(kind)),
    `GET ${path}/`,
  ]);
  const isWrite = /^(POST|PUT|PATCH) /.test(request);
  const query = isGuarded(kind) && !request.startsWith('GET') ? ['dryRun=All'] : [];
  const sent = target(request, query);
  return [isWrite ? { request: sent, body: {} } : { request: sent }];
};
