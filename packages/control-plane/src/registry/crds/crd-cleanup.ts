import { forbidden } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { isEstablished, storedKindOfCrd, terminatingStatus } from '../../crd/index.ts';
import type { AdmissionPlugin } from '../../resources/admission.ts';
import { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import type { StoreEvent } from '../../store/store.ts';
import { putStatus, track } from '../writes/create.ts';
import { deleteRecord } from '../writes/delete.ts';

/** The finalizer that keeps a CRD until its objects are deleted. */
export const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

const refuseCreate: AdmissionPlugin['validate'] = ({ operation, served, name }) => {
  if (operation !== 'CREATE' || served.kind.terminating !== true) return undefined;
  throw forbidden(served.kind, name, 'create not allowed while custom resource definition is terminating');
};

/** Refuses new objects of a CRD that is being deleted. */
export const terminatingCrds: AdmissionPlugin = {
  name: 'TerminatingCustomResources',
  admit: (attributes) => refuseCreate(attributes),
  validate: refuseCreate,
};

/**
 * Deletes the objects of terminating CRDs, waits for objects with finalizers, and then removes the finalizer of each
 * CRD.
 */
export class CrdCleanup {
  readonly #registry: Registry;
  readonly #crdKind: ServedKind;
  readonly #waits = new Map<string, () => void>();

  constructor(registry: Registry, crdKind: ServedKind) {
    this.#registry = registry;
    this.#crdKind = crdKind;
  }

  /** Ends the clean-up for a CRD that no longer exists. */
  forget(name: string): void {
    this.#waits.get(name)?.();
    this.#waits.delete(name);
  }

  stop(): void {
    for (const name of [...this.#waits.keys()]) this.forget(name);
  }

  /**
   * Deletes the objects of a CRD that is being deleted. A second call of `begin` for a CRD is safe, and repeats lost
   * writes.
   */
  begin(name: string): void {
    const crd = this.#live(name);
    if (crd === undefined) return;
    const status = terminatingStatus(crd, 'InstanceDeletionInProgress', this.#registry.now());
    if (!jsonEquals(status, crd.status)) putStatus(this.#registry, this.#crdKind, crd, status);
    const stored = storedKindOfCrd(crd);
    if (stored === undefined || !isEstablished(crd)) {
      this.#finish(name, 'NeverEstablished');
      return;
    }
    const { store } = this.#registry;
    const served = new ServedKind(stored);
    if (!this.#waits.has(name)) {
      // If the server admitted an object before the deletion of the CRD, the server may still create the object.
      const stop = store.subscribe(served.resource, (event) => this.#onEvent(name, served, event));
      this.#waits.set(name, stop);
    }
    for (const record of store.list(served.resource).records) deleteRecord(this.#registry, served, record);
    this.#finishIfEmpty(name, served);
  }

  #onEvent(name: string, served: ServedKind, { type, record }: StoreEvent): void {
    // A listener must not write, because other listeners have not received the change yet.
    queueMicrotask(() => {
      if (!this.#waits.has(name)) return;
      const { store } = this.#registry;
      const current = type === 'DELETED' ? undefined : store.get(served.resource, record.namespace, record.name);
      // An object that is already marked for deletion is not changed.
      if (current !== undefined) deleteRecord(this.#registry, served, current);
      this.#finishIfEmpty(name, served);
    });
  }

  #finishIfEmpty(name: string, served: ServedKind): void {
    if (this.#registry.store.count(served.resource) === 0) this.#finish(name, 'InstanceDeletionCompleted');
  }

  #finish(name: string, reason: 'InstanceDeletionCompleted' | 'NeverEstablished'): void {
    this.forget(name);
    const crd = this.#live(name);
    const record = this.#registry.store.get(this.#crdKind.resource, '', name);
    if (crd === undefined || record === undefined) return;
    const finalizers = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP);
    if (finalizers.length === 0) {
      this.#registry.remove(this.#crdKind, record);
      return;
    }
    const status = terminatingStatus(crd, reason, this.#registry.now());
    const updated = { ...crd, metadata: { ...crd.metadata, finalizers }, status };
    track(this.#registry, this.#crdKind, crd, updated, { fieldManager: 'kube-apiserver' }, 'status');
    this.#registry.put(this.#crdKind, updated);
  }

  /** Returns the CRD, if the CRD is being deleted and still has the finalizer. */
  #live(name: string): ApiObject | undefined {
    const record = this.#registry.store.get(this.#crdKind.resource, '', name);
    if (record === undefined) return undefined;
    const crd = this.#registry.parse(this.#crdKind, record);
    const { deletionTimestamp, finalizers = [] } = crd.metadata;
    return deletionTimestamp !== undefined && finalizers.includes(CLEANUP) ? crd : undefined;
  }
}
