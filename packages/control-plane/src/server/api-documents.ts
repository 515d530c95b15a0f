import { createHash } from 'node:crypto';
import { stringifyJson } from '../apimachinery/objects/json.ts';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { aggregatedDiscovery, aggregatedVersion } from '../discovery/documents.ts';
import {
  encodeOpenApiV2,
  fingerprint,
  openApiV2,
  openApiV2Piece,
  openApiV3,
  openApiV3Index,
  type V2Piece,
} from '../openapi/index.ts';
import type { KindRegistry } from '../resources/kind-registry.ts';

const placeOf = ({ group, version }: Pick<KindDefinition, 'group' | 'version'>): string => `${group}/${version}`;

/** Caches one value for each group version. */
class Pieces<T> {
  readonly #make: (kinds: readonly KindDefinition[], group: string, version: string) => T;
  readonly #kinds: KindRegistry;
  readonly #made = new Map<string, T>();

  constructor(kinds: KindRegistry, make: (kinds: readonly KindDefinition[], group: string, version: string) => T) {
    this.#kinds = kinds;
    this.#make = make;
  }

  of(group: string, version: string): T {
    const place = placeOf({ group, version });
    let made = this.#made.get(place);
    if (made === undefined) {
      const kinds = this.#kinds.of(group, version).map(({ kind }) => kind);
      made = this.#make(kinds, group, version);
      this.#made.set(place, made);
    }
    return made;
  }

  forget(place: string): void {
    this.#made.delete(place);
  }
}

/** A change of a kind discards the documents of its group version. */
export class ApiDocuments {
  readonly #kinds: KindRegistry;
  readonly #versions: Pieces<string>;
  readonly #hashes: Pieces<string>;
  readonly #v3: Pieces<string>;
  readonly #v2: Pieces<V2Piece>;
  readonly #whole = new Map<string, string>();
  #v2Bytes: Uint8Array | undefined;

  constructor(kinds: KindRegistry) {
    this.#kinds = kinds;
    this.#versions = new Pieces(kinds, (_, group, version) => JSON.stringify(aggregatedVersion(kinds, group, version)));
    this.#hashes = new Pieces(kinds, fingerprint);
    this.#v3 = new Pieces(kinds, (of) => stringifyJson(openApiV3(of)));
    this.#v2 = new Pieces(kinds, openApiV2Piece);
    const pieces = [this.#versions, this.#hashes, this.#v3, this.#v2];
    kinds.onChange((touched) => {
      this.#whole.clear();
      this.#v2Bytes = undefined;
      for (const kind of touched) for (const one of pieces) one.forget(placeOf(kind));
    });
  }

  aggregated(core: boolean): string {
    return this.#all(core ? 'api' : 'apis', () =>
      aggregatedDiscovery(this.#kinds, core, (group, version) => this.#versions.of(group, version)),
    );
  }

  openApiV2(): string {
    return this.#all('v2', () => openApiV2(this.#places().map(({ group, version }) => this.#v2.of(group, version))));
  }

  openApiV2Protobuf(): Uint8Array {
    this.#v2Bytes ??= encodeOpenApiV2(this.openApiV2());
    return this.#v2Bytes;
  }

  /**
   * Returns the ETag of the OpenAPI v2 document with quotes. The JSON form and the protobuf form have the same ETag.
   * Caches distinguish the two forms by the header `Vary`.
   */
  openApiV2Etag(): string {
    return this.#all('v2 etag', () => `"${createHash('sha512').update(this.openApiV2()).digest('hex').toUpperCase()}"`);
  }

  openApiV3Index(): string {
    return this.#all('v3', () => {
      const entries = this.#places().map((place) => ({ ...place, hash: this.#hashes.of(place.group, place.version) }));
      return JSON.stringify(openApiV3Index(entries));
    });
  }

  /** Returns the OpenAPI v3 document of a group version. */
  openApiV3(group: string, version: string): string | undefined {
    return this.#kinds.hasGroupVersion(group, version) ? this.#v3.of(group, version) : undefined;
  }

  #places(): { group: string; version: string }[] {
    return this.#kinds.groups().flatMap(({ name, versions }) => versions.map((version) => ({ group: name, version })));
  }

  #all(name: string, make: () => string): string {
    let text = this.#whole.get(name);
    if (text === undefined) {
      text = make();
      this.#whole.set(name, text);
    }
    return text;
  }
}
