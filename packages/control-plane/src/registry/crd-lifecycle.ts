import { crdStatus, defaultCrd, initialCrdStatus, kindsOfCrd, validateCrd } from '../crd/index.ts';
import type { KindDefinition } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { StoreEvent } from '../store/store.ts';
import { jsonEquals } from './object-text.ts';
import type { Registry } from './registry.ts';

const CRDS = 'apiextensions.k8s.io/customresourcedefinitions';
/** Keeps a CRD until its objects are gone. */
const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

/** The strategy of CustomResourceDefinitions, on top of their schema. */
export function withCrdStrategy(kind: KindDefinition): KindDefinition {
  if (`${kind.group}/${kind.plural}` !== CRDS) return kind;
  return {
    ...kind,
    deletionFinalizers: [CLEANUP],
    setDefaults: defaultCrd,
    prepareForCreate: (crd) => {
      crd.status = initialCrdStatus(crd);
    },
    validate: (crd) => validateCrd(crd),
    validateUpdate: (crd, old) => validateCrd(crd, old),
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

const conditionsOf = (crd: ApiObject): readonly Condition[] =>
  ((crd.status as { conditions?: Condition[] | null } | undefined)?.conditions ?? []) as Condition[];

const isEstablished = (crd: ApiObject): boolean =>
  conditionsOf(crd).some(({ type, status }) => type === 'Established' && status === 'True');

function withStorageVersion(crd: ApiObject): KindDefinition[] {
  const { versions } = crd.spec as { versions: { name: string; storage: boolean }[] };
  const storageVersion = versions.find(({ storage }) => storage)?.name;
  return kindsOfCrd(crd).map((kind) => (storageVersion === undefined ? kind : { ...kind, storageVersion }));
}

/** Serves the kinds of CRDs as these come, change and go: names, establishing, and the clean-up of a deleted one. */
export class CrdLifecycle {
  readonly #registry: Registry;
  /** What is served of each CRD, to serve anew only what has changed. */
  readonly #served = new Map<string, unknown>();
  #scheduled = false;
  #stop: (() => void) | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Serves what the store has, and follows its changes. */
  start(): void {
    this.#stop = this.#registry.store.subscribe(CRDS, (event) => this.#onEvent(event));
    this.sync();
  }

  stop(): void {
    this.#stop?.();
  }

  #onEvent(event: StoreEvent): void {
    if (event.type === 'DELETED') {
      const { name } = event.record;
      this.#served.delete(name);
      this.#registry.kinds.setCustom(name, []);
    }
    // After the answer to the write that caused it, as a controller would.
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.sync();
    });
  }

  /** Brings the status of every CRD and what is served up to date. */
  sync(): void {
    const { kinds, store } = this.#registry;
    const crdKind = kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    if (crdKind === undefined) return;
    const parse = () => store.list(CRDS).records.map((record) => this.#registry.parse(crdKind, record));
    const names = parse().map(({ metadata }) => metadata.name ?? '');
    for (const name of names) {
      const record = store.get(CRDS, '', name);
      if (record === undefined) continue;
      const crd = this.#registry.parse(crdKind, record);
      const dying = crd.metadata.deletionTimestamp !== undefined;
      const status = dying ? crd.status : crdStatus(crd, parse(), this.#registry.now());
      const changed = !jsonEquals(status, crd.status);
      crd.status = status;
      if (changed) this.#registry.put(crdKind, crd);
      if (dying) this.#cleanUp(crd);
      else this.#serve(crd);
    }
  }

  #serve(crd: ApiObject): void {
    const name = crd.metadata.name ?? '';
    const spec = isEstablished(crd) ? crd.spec : undefined;
    if (jsonEquals(this.#served.get(name), spec)) return;
    this.#served.set(name, spec);
    this.#registry.kinds.setCustom(
      name,
      spec === undefined ? [] : withStorageVersion(crd),
      Number(crd.metadata.resourceVersion ?? 0),
    );
  }

  /** Deletes the objects of a CRD that is going; it goes itself when the last of them has gone. */
  #cleanUp(crd: ApiObject): void {
    const { kinds, store } = this.#registry;
    const { group, names } = crd.spec as { group: string; names: { plural: string } };
    const resource = `${group}/${names.plural}`;
    const served = kinds.all().find((one) => one.resource === resource);
    if (served !== undefined) {
      for (const record of store.list(resource).records) {
        const object = this.#registry.parse(served, record);
        if ((object.metadata.finalizers ?? []).length === 0) this.#registry.remove(served, record);
        else if (object.metadata.deletionTimestamp === undefined) {
          object.metadata.deletionTimestamp = crd.metadata.deletionTimestamp ?? '';
          object.metadata.deletionGracePeriodSeconds = 0;
          this.#registry.put(served, object);
        }
      }
      if (store.count(resource) > 0) {
        const stop = store.subscribe(resource, () => {
          if (store.count(resource) > 0) return;
          stop();
          this.sync();
        });
        return;
      }
    }
    const crdKind = kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    const finalizers = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP);
    const record = store.get(CRDS, '', crd.metadata.name ?? '');
    if (crdKind === undefined || record === undefined) return;
    const current = this.#registry.parse(crdKind, record);
    if (!(current.metadata.finalizers ?? []).includes(CLEANUP)) return;
    current.metadata.finalizers = finalizers;
    if (finalizers.length === 0) this.#registry.remove(crdKind, record);
    else this.#registry.put(crdKind, current);
  }
}
