import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import {
  crdStatus,
  defaultCrd,
  dropEmptyWebhook,
  formatWarnings,
  initialCrdStatus,
  isEstablished,
  kindsOfCrd,
  terminatingStatus,
  validateCrd,
  validateCrdStatus,
} from '../../crd/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Call, Registry } from '../../resources/registry.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { StoreEvent } from '../../store/store.ts';
import type { Words } from '../../store/word-index.ts';
import { ensureObject } from '../bootstrap.ts';
import { putStatus } from '../writes/create.ts';
import { CLEANUP, CrdCleanup } from './crd-cleanup.ts';
import { createdAs, keepReady, type ReadyCrd, readyCrd, settledAt } from './ready-crds.ts';

const CRDS = 'apiextensions.k8s.io/customresourcedefinitions';
/** Marks a CRD as terminating at its first delete request. */
function markCrd(crd: ApiObject, now: Date): void {
  const { metadata } = crd;
  const finalizers = metadata.finalizers ?? [];
  metadata.deletionTimestamp = formatTime(now);
  metadata.finalizers = finalizers.includes(CLEANUP) ? finalizers : [...finalizers, CLEANUP];
  crd.status = terminatingStatus(crd, 'InstanceDeletionPending', now);
}

/** Adds the strategy of CustomResourceDefinitions to their kind, and returns the result. */
export function withCrdStrategy(kind: KindDefinition): KindDefinition {
  if (`${kind.group}/${kind.plural}` !== CRDS) return kind;
  return {
    ...kind,
    markForDeletion: markCrd,
    setDefaults: (crd) => {
      kind.setDefaults?.(crd);
      defaultCrd(crd);
    },
    prepareForCreate: (crd) => {
      // A new CRD has no status, even if its body contains one.
      delete crd.status;
      crd.status = initialCrdStatus(crd);
      dropEmptyWebhook(crd);
    },
    prepareForUpdate: (crd, old, context) => {
      kind.prepareForUpdate?.(crd, old, context);
      dropEmptyWebhook(crd);
    },
    validate: (crd) => validateCrd(crd),
    validateUpdate: (crd, old, { subresource }) =>
      subresource === 'status' ? validateCrdStatus(crd) : validateCrd(crd, old),
    warnings: formatWarnings,
  };
}

/** Records never change, so the cached names stay correct. */
const namesKept = new WeakMap<StoredRecord, readonly string[]>();

/**
 * Returns the names that a CRD requests or has, each with the group of the CRD. Two CRDs with a common name conflict.
 */
function namesOf(record: StoredRecord): readonly string[] {
  let names = namesKept.get(record);
  if (names === undefined) {
    names = readNames(record.json);
    namesKept.set(record, names);
  }
  return names;
}

const readNames = (json: string): readonly string[] => namesIn(JSON.parse(json) as ApiObject);

function namesIn(crd: ApiObject): readonly string[] {
  const { spec, status } = crd as ApiObject & { spec: CrdSpec; status?: { acceptedNames?: CrdNames } };
  const words: string[] = [];
  for (const { plural, singular, shortNames, kind, listKind } of [spec.names, status?.acceptedNames ?? {}]) {
    for (const name of [plural, singular, ...(shortNames ?? [])]) words.push(`${spec.group} resource ${name ?? ''}`);
    for (const name of [kind, listKind]) words.push(`${spec.group} kind ${name ?? ''}`);
  }
  return [...new Set(words)].filter((word) => !word.endsWith(' '));
}

interface CrdNames {
  readonly plural?: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind?: string;
  readonly listKind?: string;
}

interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
}

const BY_NAME: Words = { of: (record) => [namesOf(record)] };

function withStorageVersion(crd: ApiObject): KindDefinition[] {
  const { versions } = crd.spec as { versions: { name: string; storage: boolean }[] };
  const storageVersion = versions.find(({ storage }) => storage)?.name;
  return kindsOfCrd(crd).map((kind) => (storageVersion === undefined ? kind : { ...kind, storageVersion }));
}

/**
 * Serves the kinds of CRDs. The class writes the accepted names and the conditions of CRDs, and starts the clean-up of
 * deleted CRDs.
 */
export class CrdLifecycle {
  readonly #registry: Registry;
  readonly #served = new Map<string, unknown>();
  readonly #changed = new Set<string>();
  #scheduled = false;
  #settling: string | undefined;
  #isRestoring = false;
  #stop: (() => void) | undefined;
  #cleanup: CrdCleanup | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Serves the CRDs in the store, and follows their changes. */
  start(): void {
    this.#stop = this.#registry.store.subscribe(CRDS, (event) => this.#onEvent(event));
    for (const { name } of this.#registry.store.list(CRDS).records) this.#changed.add(name);
    this.settle();
  }

  stop(): void {
    this.#stop?.();
    this.#cleanup?.stop();
  }

  /**
   * Creates the CRDs that do not exist, and serves their kinds. With `reuse`, an empty store gets the CRDs that another
   * control plane of this process has created without the checks.
   */
  async install(call: Call, crds: readonly ApiObject[], reuse: boolean): Promise<void> {
    const { kinds, store } = this.#registry;
    const crdKind = kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    if (crdKind === undefined) return;
    const isReusing = reuse && store.count(CRDS) === 0;
    const taken = new Set<string>();
    for (const given of crds) {
      const ready = isReusing ? readyCrd(given) : undefined;
      const isFree = (crd: ApiObject): boolean => namesIn(crd).every((word) => !taken.has(word));
      if (ready !== undefined && isFree(ready.crd)) this.#restore(crdKind, ready);
      else {
        await ensureObject(this.#registry, call, given);
        this.settle();
      }
      if (!isReusing) continue;
      const record = store.get(CRDS, '', given.metadata.name ?? '');
      if (record === undefined) continue;
      const crd = ready?.crd ?? this.#registry.parse(crdKind, record);
      if (ready === undefined && isFree(crd) && isEstablished(crd)) {
        keepReady(given, { crd, kinds: withStorageVersion(crd) });
      }
      for (const word of namesIn(crd)) taken.add(word);
    }
  }

  #restore(crdKind: ServedKind, ready: ReadyCrd): void {
    const registry = this.#registry;
    const crd = settledAt(ready, { uid: registry.uid(), time: formatTime(registry.now()) });
    this.#isRestoring = true;
    try {
      const { revision, name } = registry.put(crdKind, createdAs(crd));
      registry.put(crdKind, crd);
      this.#publish(name, revision, { spec: crd.spec, terminating: undefined }, ready.kinds);
    } finally {
      this.#isRestoring = false;
    }
  }

  #onEvent(event: StoreEvent): void {
    if (this.#isRestoring) return;
    const { record, previous, type } = event;
    if (type === 'DELETED') {
      this.#served.delete(record.name);
      this.#cleanup?.forget(record.name);
      this.#registry.kinds.setCustom(record.name, []);
    }
    // If a CRD releases a name, another CRD may get the name.
    const words = new Set([record, previous].flatMap((state) => (state === undefined ? [] : namesOf(state))));
    const touched = this.#registry.store.find(CRDS, BY_NAME, words).map(({ name }) => name);
    // A status write by this class does not mark the CRD as changed.
    for (const name of [record.name, ...touched]) if (name !== this.#settling) this.#changed.add(name);
    if (this.#changed.size === 0) return;
    // As in a separate controller, the CRDs are processed after the response to the write.
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.settle();
    });
  }

  /** Updates the status of every changed CRD, and then the served kinds. */
  settle(): void {
    const { kinds, store } = this.#registry;
    const names = [...this.#changed].sort();
    this.#changed.clear();
    const crdKind = kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    if (crdKind === undefined) return;
    this.#cleanup ??= new CrdCleanup(this.#registry, crdKind);
    for (const name of names) {
      const record = store.get(CRDS, '', name);
      if (record === undefined) continue;
      const crd = this.#registry.parse(crdKind, record);
      const others = () =>
        store
          .find(CRDS, BY_NAME, namesOf(record))
          .filter((one) => one !== record)
          .map((one) => this.#registry.parse(crdKind, one));
      const status = crdStatus(crd, others(), this.#registry.now());
      if (!jsonEquals(status, crd.status)) {
        this.#settling = name;
        try {
          putStatus(this.#registry, crdKind, crd, status);
        } finally {
          this.#settling = undefined;
        }
      }
      crd.status = status;
      this.#serve(crd);
      if (crd.metadata.deletionTimestamp !== undefined) this.#cleanup.begin(name);
    }
  }

  #serve(crd: ApiObject): void {
    const name = crd.metadata.name ?? '';
    const isServed = isEstablished(crd);
    const kinds = isServed ? withStorageVersion(crd) : [];
    const served = isServed ? { spec: crd.spec, terminating: kinds[0]?.terminating } : undefined;
    this.#publish(name, Number(crd.metadata.resourceVersion ?? 0), served, kinds);
  }

  #publish(name: string, revision: number, served: unknown, kinds: readonly KindDefinition[]): void {
    if (jsonEquals(this.#served.get(name), served)) return;
    this.#served.set(name, served);
    this.#registry.kinds.setCustom(name, kinds, revision);
  }
}
