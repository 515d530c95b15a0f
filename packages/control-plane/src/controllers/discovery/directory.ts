import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import { textOf } from '../../apimachinery/http/in-process.ts';
import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Api } from '../client/api.ts';
import type { Resource } from '../client/resources.ts';

export interface ServedResource extends Resource {
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

interface Discovered {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind: { readonly kind: string };
        readonly scope: 'Cluster' | 'Namespaced';
        readonly verbs: readonly string[];
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** Joins the names in a CRD to one text, so that the caller can compare them. */
const servedNames = (crd: ApiObject | undefined): string => {
  if (crd === undefined) return '';
  const status = crd.status as { conditions?: { type: string; status: string }[] } | undefined;
  const established = status?.conditions?.find(({ type }) => type === 'Established')?.status ?? '';
  const spec = crd.spec as { versions?: { name: string; served: boolean }[] } | undefined;
  const versions = (spec?.versions ?? []).map(({ name, served }) => `${name}:${served}`).join();
  return `${crd.metadata.uid} ${established} ${versions}`;
};

export class Directory {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #resources: readonly ServedResource[] = [];
  #reading: Promise<void> | undefined;
  #stale = false;

  constructor(api: Api, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Returns all resources. The preferred version of each group is first. */
  all(): readonly ServedResource[] {
    return this.#resources;
  }

  /** Finds the resource of a kind. Owner references and scale targets contain only a kind. */
  find(apiVersion: string, kind: string): ServedResource | undefined {
    return this.#resources.find((resource) => {
      const { group, version } = resource;
      return resource.kind === kind && apiVersion === (group === '' ? version : `${group}/${version}`);
    });
  }

  preferred(group: string, kind: string): ServedResource | undefined {
    return this.#resources.find((resource) => resource.group === group && resource.kind === kind);
  }

  deletable(): ServedResource[] {
    const seen = new Set<string>();
    return this.#resources.filter(({ group, plural, verbs }) => {
      const key = qualifiedResource({ group, plural });
      if (seen.has(key) || !['list', 'watch', 'delete'].every((verb) => verbs.includes(verb))) return false;
      seen.add(key);
      return true;
    });
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Reads the resources again if the names in a CRD have changed. `crd` is undefined for a deleted CRD, and `old` is
   * undefined for a new CRD.
   */
  definitionChanged(crd: ApiObject | undefined, old: ApiObject | undefined): void {
    if (servedNames(crd) !== servedNames(old)) void this.refresh();
  }

  /** Reads the resources. A call during a read causes another read after the current read. */
  async refresh(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#stale = true;
      return this.#reading;
    }
    this.#reading = this.#read();
    try {
      await this.#reading;
    } catch {
      // A timer retries the failed read.
      this.#clock.setTimeout(() => void this.refresh(), 1000);
    } finally {
      this.#reading = undefined;
    }
    if (!this.#stale) return;
    this.#stale = false;
    return this.refresh();
  }

  async #read(): Promise<void> {
    const found: ServedResource[] = [];
    for (const path of ['/api', '/apis']) {
      const response = await this.#api.send(path, { headers: { accept: AGGREGATED } });
      found.push(...resourcesOf(JSON.parse(textOf(response)) as Discovered));
    }
    this.#resources = found;
    for (const listener of [...this.#listeners]) listener();
  }
}

function* resourcesOf(discovered: Discovered): Generator<ServedResource> {
  for (const { metadata, versions } of discovered.items) {
    for (const { version, resources = [] } of versions) {
      for (const { resource, responseKind, scope, verbs, subresources = [] } of resources) {
        yield {
          group: metadata?.name ?? '',
          version,
          plural: resource,
          namespaced: scope === 'Namespaced',
          kind: responseKind.kind,
          verbs,
          subresources: subresources.map(({ subresource }) => subresource),
        };
      }
    }
  }
}
