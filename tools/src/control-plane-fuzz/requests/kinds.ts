import { readFileSync } from 'node:fs';
import type { JsonObject } from './json.ts';
import type { Schema, Schemas } from './schema.ts';

/** A Kubernetes kind that both servers support, with valid sample objects. */
export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Whether kube-apiserver implements the kind. */
  readonly builtIn: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  readonly samples: readonly JsonObject[];
  readonly schema: Schema;
  readonly collection: string;
}

interface Review {
  readonly collection: string;
  readonly object: JsonObject;
}

export interface Samples {
  readonly samples: readonly JsonObject[];
  readonly reviews: readonly Review[];
  readonly subresources: Readonly<Record<string, JsonObject>>;
}

export const readSamples = (): Samples =>
  JSON.parse(
    readFileSync(new URL('../../../testdata/control-plane-fuzz/samples.json', import.meta.url), 'utf8'),
  ) as Samples;

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Returns the resources that a server lists in its discovery, by `apiVersion/resource`, including subresources. */
export async function readResources(get: (path: string) => Promise<unknown>): Promise<ReadonlyMap<string, Resource>> {
  const { groups } = (await get('/apis')) as {
    readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  };
  const versions = ['v1', ...groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion))];
  const found = new Map<string, Resource>();
  for (const version of versions) {
    const list = (await get(prefixOf(version))) as { readonly resources: readonly Resource[] };
    for (const resource of list.resources) found.set(`${version}/${resource.name}`, resource);
  }
  return found;
}

const prefixOf = (apiVersion: string): string => (apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`);

/**
 * Returns the kinds that have a sample and that both servers support. If a server does not support the kind of a
 * sample, the function throws an error, because the sample is wrong.
 */
export function sharedKinds(
  { samples }: Samples,
  schemas: Schemas,
  real: ReadonlyMap<string, Resource>,
  plane: ReadonlyMap<string, Resource>,
): readonly Kind[] {
  const byKind = Map.groupBy(samples, ({ apiVersion, kind }) => `${apiVersion}/${kind}`);
  return [...byKind].map(([key, objects]) => {
    const apiVersion = String(objects[0]?.['apiVersion']);
    const kind = String(objects[0]?.['kind']);
    const entry = [...real].find(
      ([path, each]) => each.kind === kind && path === `${apiVersion}/${each.name}` && !each.name.includes('/'),
    );
    if (entry === undefined || !plane.has(entry[0]))
      throw new Error(`only one of the two servers supports ${key} of samples.json`);
    const [path, { name, namespaced, verbs }] = entry;
    const subresources = [...real.keys()]
      .filter((each) => each.startsWith(`${path}/`) && plane.has(each))
      .map((each) => each.slice(path.length + 1));
    return {
      apiVersion,
      kind,
      resource: name,
      namespaced,
      verbs,
      subresources,
      samples: objects,
      builtIn: !/sapcloud|openshift|battery/.test(apiVersion),
      schema: schemas.of(apiVersion, kind),
      collection: `${prefixOf(apiVersion)}${namespaced ? '/namespaces/${ns}' : ''}/${name}`,
    };
  });
}
