import { realClock, sleep } from '@mcm/kube';

interface Found {
  readonly path: string;
  readonly finalizers: readonly string[];
}

interface Answer {
  readonly groups?: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  readonly resources?: readonly { readonly name: string; readonly namespaced: boolean; readonly verbs: string[] }[];
  readonly items?:
    | readonly {
        readonly metadata: {
          readonly name: string;
          readonly namespace?: string;
          readonly uid: string;
          readonly finalizers?: readonly string[];
        };
      }[]
    | null;
}

/** Matches the objects that the cluster creates again after a deletion. */
const ITS_OWN =
  /\/namespaces\/kube-system\/(leases|serviceaccounts|configmaps)\/|\/(apiservices|ipaddresses)\/|\/(kubernetes|default|kube-root-ca\.crt|system:[^/]*)$/;
/** Matches objects with a finalizer of the API server, which first deletes the content of the object. */
const EMPTIED_BY_SERVER = /\/(namespaces|customresourcedefinitions)\/[^/]+$/;
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const LOOK_EVERY_MS = 200;
const LOOKS = 600;

type Fetch = (request: Request) => Promise<Response>;

const asked = (fetch: Fetch, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(new Request(`https://server${path}`, init));

async function read(fetch: Fetch, path: string): Promise<Answer> {
  for (let looks = 1; ; looks += 1) {
    const answer = await asked(fetch, path, { headers: { accept: METADATA } });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    if (answer.status === 404) return {};
    if (answer.status !== 429 || looks === LOOKS) throw new Error(`GET ${path}: ${text}`);
    await sleep(realClock, LOOK_EVERY_MS);
  }
}

async function objectsIn(fetch: Fetch): Promise<ReadonlyMap<string, Found>> {
  const { groups = [] } = await read(fetch, '/apis');
  const found = new Map<string, Found>();
  for (const version of ['/api/v1', ...groups.map((group) => `/apis/${group.preferredVersion.groupVersion}`)]) {
    const { resources = [] } = await read(fetch, version);
    for (const { name: plural, verbs } of resources) {
      if (plural.includes('/') || !verbs.includes('list') || !verbs.includes('delete')) continue;
      const { items } = await read(fetch, `${version}/${plural}`);
      for (const { metadata } of items ?? []) {
        const { name, namespace, uid, finalizers = [] } = metadata;
        const place = namespace === undefined ? version : `${version}/namespaces/${namespace}`;
        found.set(uid, { path: `${place}/${plural}/${name}`, finalizers });
      }
    }
  }
  return found;
}

async function remove(fetch: Fetch, { path, finalizers }: Found): Promise<void> {
  if (finalizers.length > 0 && !EMPTIED_BY_SERVER.test(path)) {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = JSON.stringify({ metadata: { finalizers: null } });
    await (await asked(fetch, path, { method: 'PATCH', headers, body })).text();
  }
  await (await asked(fetch, `${path}?gracePeriodSeconds=0`, { method: 'DELETE' })).text();
}

export interface SharedCluster {
  restore(): Promise<void>;
}

/**
 * Opens a running cluster. If other clients use the cluster, throws an error, because the test would delete their
 * objects.
 */
export async function sharedCluster(fetch: Fetch, file: string): Promise<SharedCluster> {
  const before = await objectsIn(fetch);
  const others = [...before.values()].filter(({ path }) =>
    /\/nodes\/|\/customresourcedefinitions\/.*\.(sapcloud\.io|openshift\.io)$/.test(path),
  );
  if (others.length > 0)
    throw new Error(
      `the cluster of ${file} has ${others.map(({ path }) => path).join(', ')}. Use a cluster that only these tests use, without Nodes and without the CRDs of mcm. Run one file at a time (--no-file-parallelism)`,
    );
  const since = async (): Promise<readonly Found[]> =>
    [...(await objectsIn(fetch))]
      .filter(([uid, { path }]) => !before.has(uid) && !ITS_OWN.test(path))
      .map(([, found]) => found);
  return {
    async restore() {
      let left = await since();
      for (let looks = 1; left.length > 0; looks += 1) {
        if (looks > LOOKS)
          throw new Error(`objects remain in the cluster of ${file}: ${left.map(({ path }) => path).join(', ')}`);
        for (const each of left) await remove(fetch, each);
        await sleep(realClock, LOOK_EVERY_MS);
        left = await since();
      }
    },
  };
}
