import { child, items } from '../../apimachinery/objects/plain.ts';
import type { AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { lookupMarked, markedBy } from './lookup.ts';

const NOT_READY = 'node.kubernetes.io/not-ready';

/**
 * TaintNodesByCondition taints a new node as not ready, so no pod is scheduled to the node before the node is Ready.
 */
export const nodeTaintAdmission: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  admit({ operation, served, subresource, object: node }) {
    if (node === undefined || operation !== 'CREATE' || subresource !== '' || served.resource !== '/nodes') {
      return undefined;
    }
    const spec = child(node, 'spec');
    const taints = items(spec, 'taints');
    if (taints.some(({ key, effect }) => key === NOT_READY && effect === 'NoSchedule')) return undefined;
    spec.taints = [...taints, { key: NOT_READY, effect: 'NoSchedule' }];
    return undefined;
  },
};

const PROTECTION: Readonly<Record<string, string>> = {
  '/persistentvolumes': 'kubernetes.io/pv-protection',
  '/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
  'storage.k8s.io/volumeattributesclasses': 'kubernetes.io/vac-protection',
};

/**
 * StorageObjectInUseProtection adds a finalizer to volumes and claims. The finalizer prevents the deletion of a used
 * volume or claim.
 */
export const storageProtectionAdmission: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  admit({ operation, served, subresource, object }) {
    const finalizer = PROTECTION[served.resource];
    if (object === undefined || finalizer === undefined || operation !== 'CREATE' || subresource !== '') {
      return undefined;
    }
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
    return undefined;
  },
};

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
const IS_DEFAULT_CLASS = markedBy(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true');

/** DefaultStorageClass sets the newest default StorageClass in each PersistentVolumeClaim without a class. */
export const defaultStorageClassAdmission = (registry: Registry): AdmissionPlugin => ({
  name: 'DefaultStorageClass',
  admit({ operation, served, subresource, object: claim }) {
    if (claim === undefined || operation !== 'CREATE' || subresource !== '') return undefined;
    if (served.resource !== '/persistentvolumeclaims') return undefined;
    const spec = child(claim, 'spec');
    if (spec.storageClassName !== undefined) return undefined;
    const [newest] = lookupMarked(registry, 'storage.k8s.io/v1', 'StorageClass', IS_DEFAULT_CLASS).sort((a, b) =>
      (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
    );
    if (newest !== undefined) spec.storageClassName = newest.metadata.name;
    return undefined;
  },
});
