import { internal } from '../apimachinery/errors/errors.ts';
import type { Clock } from '../apimachinery/objects/clock.ts';
import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';
import type { WrittenPart } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { copyJson, jsonEquals, renderObject, tidyMeta, withRevision } from '../apimachinery/objects/object-text.ts';
import { randomUid } from '../apimachinery/objects/uid.ts';
import type { Authorizer } from '../apimachinery/users/authorizer.ts';
import type { UserInfo } from '../apimachinery/users/user.ts';
import { fieldsOf } from '../selectors/field-selector.ts';
import type { StoredRecord } from '../store/record.ts';
import type { Store } from '../store/store.ts';
import { type AdmissionAttributes, AdmissionChain } from './admission.ts';
import type { KindRegistry, ServedKind } from './kind-registry.ts';
import type { WriteOptions } from './options.ts';
import { sharedParts } from './shared-parts.ts';

/** The size limit of etcd for a request, which contains the object and some other data. */
const STORE_LIMIT = 1.5 * 1024 * 1024;

export interface Call {
  readonly user: UserInfo;
  readonly userAgent: string;
  readonly warn: (message: string) => void;
}

/** The target of a request. Without a name, the target is a collection. */
export interface Target {
  readonly served: ServedKind;
  /** The namespace of the object, or '' for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

export interface Written {
  readonly text: string;
  readonly created: boolean;
}

/** The object to which a token is bound. After the deletion of the bound object, the token is invalid. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node';
  readonly name: string;
  readonly uid: string;
  readonly node?: { readonly name: string; readonly uid?: string };
}

export interface TokenFacts {
  readonly account: ApiObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly bound?: BoundObject | undefined;
}

export interface TokenSigner {
  issue(facts: TokenFacts): string;
}

export interface ReviewRequest {
  readonly object: ApiObject;
  readonly call: Call;
  readonly target: Target;
  readonly options: WriteOptions;
  readonly attributes: AdmissionAttributes;
}

/** @throws StatusError if the review is invalid */
export type ReviewHandler = (request: ReviewRequest) => ApiObject | Promise<ApiObject>;

/** Alpha features, as in `--feature-gates` of kube-apiserver. */
export interface Features {
  /** Whether lists and watches accept a `shardSelector`. */
  readonly shardedListAndWatch?: boolean | undefined;
}

export interface RegistryParts {
  readonly store: Store;
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  readonly random: () => number;
  readonly tokens: TokenSigner;
  readonly authorize: Authorizer;
  readonly features?: Features | undefined;
}

export interface Before {
  readonly record: StoredRecord;
  readonly part: WrittenPart;
}

/** Returns an object in the form in which the server stores the object, before the conversion to JSON text. */
function encoded({ kind: { storedAs } }: ServedKind, object: ApiObject, before: Before | undefined): ApiObject {
  if (storedAs === undefined) return object;
  const form = storedAs.encode({ ...object });
  if (before === undefined || storedAs.keep === undefined) return form;
  return storedAs.keep(form, parseJson(before.record.json) as ApiObject, before.part);
}

const tidy = (object: ApiObject): ApiObject => ({ ...object, metadata: tidyMeta(object.metadata) });

export class Registry {
  readonly store: Store;
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  readonly random: () => number;
  readonly admission = new AdmissionChain();
  /** The server does not store reviews. */
  readonly reviews = new Map<string, ReviewHandler>();
  readonly tokens: TokenSigner;
  /** The authorizer for requests, and for permission checks in CEL expressions. */
  readonly authorize: Authorizer;
  readonly features: Features;

  readonly #lacking = new WeakSet<StoredRecord>();
  readonly #bare = new WeakMap<StoredRecord, ApiObject>();

  constructor(parts: RegistryParts) {
    this.store = parts.store;
    this.kinds = parts.kinds;
    this.clock = parts.clock;
    this.random = parts.random;
    this.tokens = parts.tokens;
    this.authorize = parts.authorize;
    this.features = parts.features ?? {};
  }

  now(): Date {
    return this.clock.now();
  }

  /** The caller may change the returned object. */
  parse(served: ServedKind, record: StoredRecord): ApiObject {
    return parseJson(served.storedTextOf(record)) as ApiObject;
  }

  /** @throws StatusError 500 if the object is too large for the store */
  put(served: ServedKind, given: ApiObject, before?: Before): StoredRecord {
    const { object, bare } = this.#inStorageVersion(served, given);
    const { metadata } = object;
    const record = this.store.put(served.resource, {
      namespace: sharedParts.text(metadata.namespace ?? ''),
      name: metadata.name ?? '',
      labels: sharedParts.of(metadata.labels),
      fields: sharedParts.of(fieldsOf(served.kind, object)),
      render: (revision) => limited(renderObject(encoded(served, object, before), revision)),
    });
    if (!jsonEquals(bare, object)) {
      this.#bare.set(record, { ...bare, metadata: (parseJson(record.json) as ApiObject).metadata });
    }
    return record;
  }

  /** Returns the JSON text for the response to a dry run, as if the server had written this object. */
  preview(served: ServedKind, given: ApiObject, subresource = ''): string {
    const { object } = this.#inStorageVersion(served, given);
    const text = renderObject({ ...object, apiVersion: served.apiVersion }, undefined);
    return subresource === '' ? (served.kind.shownAs?.(text) ?? text) : text;
  }

  /** Records that kube-apiserver stores this object without its defaults. */
  lacksDefaults(record: StoredRecord): void {
    this.#lacking.add(record);
  }

  /**
   * Returns whether a write without changes creates a new version, because the write adds defaults to the stored
   * object.
   */
  isWrittenAnyway(served: ServedKind, before: Before): boolean {
    const { record } = before;
    const { storedAs, stored } = served.kind;
    if (this.#lacking.has(record)) return true;
    if (stored === undefined && this.#bare.has(record)) return true;
    const isConverted = stored !== undefined || storedAs !== undefined;
    return isConverted && !this.storesSame(served, before, this.parse(served, record));
  }

  /** Returns whether a write would store the current content of the record again. */
  storesSame(served: ServedKind, before: Before, object: ApiObject): boolean {
    const { record } = before;
    const { bare } = this.#inStorageVersion(served, object);
    const stored = this.#bare.get(record) ?? (parseJson(record.json) as ApiObject);
    return jsonEquals(tidy(stored), tidy(encoded(served, bare, before)));
  }

  /**
   * Converts an object to the storage version. kube-apiserver stores `bare`, and adds the defaults of the storage
   * version when it reads the object.
   */
  #inStorageVersion(served: ServedKind, object: ApiObject): { readonly object: ApiObject; readonly bare: ApiObject } {
    const { group, plural, version, storageVersion = version } = served.kind;
    if (storageVersion === version) return { object, bare: object };
    const stored = this.kinds.find(group, storageVersion, plural);
    if (stored === undefined) return { object, bare: object };
    const converted = parseJson(stringifyJson(object)) as ApiObject;
    converted.apiVersion = stored.apiVersion;
    stored.schema?.prune(converted);
    const bare = copyJson(converted);
    stored.schema?.setDefaults(converted);
    return { object: converted, bare };
  }

  /** Deletes a record from the store. */
  remove(served: ServedKind, record: StoredRecord): StoredRecord {
    const { namespace, name, labels, fields } = record;
    return this.store.delete(served.resource, {
      namespace,
      name,
      labels,
      fields,
      render: (revision) => withRevision(record.json, record.revision, revision),
    });
  }

  /** Returns the revision up to which the listeners have received all changes. */
  deliveredRevision(): number {
    return this.store.deliveredRevision();
  }

  attributes(
    call: Call,
    target: Target,
    write: Pick<AdmissionAttributes, 'operation' | 'object' | 'old' | 'carries' | 'dryRun' | 'options'> & {
      name?: string;
    },
  ): AdmissionAttributes {
    const { served, namespace, subresource } = target;
    const name = write.name ?? target.name;
    return { ...write, served, namespace, name, subresource, user: call.user, warn: call.warn };
  }

  uid(): string {
    return randomUid(this.random);
  }
}

function limited(text: string): string {
  // A UTF-16 code unit needs at most three bytes in UTF-8, so the function does not count the bytes of a short text.
  if (text.length > STORE_LIMIT / 3 && Buffer.byteLength(text) > STORE_LIMIT) {
    throw internal('etcdserver: request is too large');
  }
  return text;
}
