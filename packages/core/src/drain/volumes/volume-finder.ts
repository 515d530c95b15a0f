import type { Node, Pod } from '@mcm/kube';
import type { DrainCaches } from '../../cluster/caches.ts';
import type { VolumeSource } from '../../driver/contract/driver.ts';
import type { Attachment } from '../model/observation.ts';

/**
 * Returns true if a name in `status.volumesAttached`, such as `kubernetes.io/csi/driver^vol-1`, belongs to the volume.
 * The original uses the volume ID as a regular expression, so it confuses vol-12 with vol-1.
 */
export function namesVolume(attachedName: string, id: string): boolean {
  if (id === '') return false;
  for (let at = attachedName.indexOf(id); at >= 0; at = attachedName.indexOf(id, at + 1)) {
    const [before = '', after = ''] = [attachedName[at - 1], attachedName[at + id.length]];
    if (!isPartOfName(before) && !isPartOfName(after)) return true;
  }
  return false;
}

const isPartOfName = (character: string): boolean => /[A-Za-z0-9_-]/.test(character);

/**
 * Finds the node to which a volume is attached. A volume without CSI appears only in the status of the Node, under its
 * ID in the cloud.
 */
export class VolumeFinder {
  readonly #caches: DrainCaches;
  readonly #idOf: (source: VolumeSource) => string | undefined;

  constructor(caches: DrainCaches, idOf: (source: VolumeSource) => string | undefined) {
    this.#caches = caches;
    this.#idOf = idOf;
  }

  #id(volume: string): string | undefined {
    const found = this.#caches.volumes.store.get(volume);
    return found && this.#idOf(found.spec);
  }

  #attachmentsOf(volume: string) {
    return this.#caches.attachments.store.byIndex('volume', volume);
  }

  /** Returns the PersistentVolumes of a pod's claims, without duplicates. */
  of(pod: Pod): readonly string[] {
    const names = (pod.spec.volumes ?? []).flatMap((volume) => {
      const claim = volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
      if (!claim) return [];
      const bound = this.#caches.claims.store.get(`${pod.metadata.namespace}/${claim}`)?.spec.volumeName;
      return bound && (this.#attachmentsOf(bound).length > 0 || this.#id(bound) !== undefined) ? [bound] : [];
    });
    return [...new Set(names)];
  }

  /**
   * Returns the volumes that are attached to the Node. VolumeAttachments may be incomplete (incident 21), so a volume
   * also counts as attached if only the status of the Node contains the volume.
   */
  attachedTo(node: Node, used: readonly string[]): Attachment[] {
    const reported = this.#caches.attachments.store
      .byIndex('node', node.metadata.name)
      .flatMap(({ metadata, spec }) => {
        const volume = spec.source.persistentVolumeName;
        return volume
          ? [{ name: metadata.name, uid: metadata.uid, volume, deleting: metadata.deletionTimestamp !== undefined }]
          : [];
      });
    const known = new Set(reported.map(({ volume }) => volume));
    const names = (node.status?.volumesAttached ?? []).map(({ name }) => name);
    const inUse = node.status?.volumesInUse ?? [];
    const others = names.length + inUse.length === 0 ? [] : [...new Set(used)].filter((volume) => !known.has(volume));
    const named = others.flatMap((volume): Attachment[] => {
      if (names.some((name) => this.#isNamed(volume, name))) return [{ volume, deleting: false }];
      return inUse.some((name) => this.#isNamed(volume, name)) ? [{ volume, deleting: false, inUse: true }] : [];
    });
    return [...reported, ...named];
  }

  /** The status of a Node contains the cloud's ID of a volume, or the kubelet's name of a CSI volume. */
  #isNamed(volume: string, name: string): boolean {
    const id = this.#id(volume);
    if (id !== undefined && namesVolume(name, id)) return true;
    const csi = this.#caches.volumes.store.get(volume)?.spec.csi;
    return csi !== undefined && name === `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`;
  }

  /**
   * A volume without VolumeAttachments counts as attached to another node, because no API object shows where the volume
   * is attached.
   */
  isAttachedElsewhere(volume: string, nodeName: string): boolean {
    const found = this.#caches.volumes.store.get(volume);
    if (found && found.spec.csi === undefined && this.#attachmentsOf(volume).length === 0) return true;
    return this.#attachmentsOf(volume).some(
      ({ spec, status }) => status?.attached === true && spec.nodeName !== nodeName,
    );
  }

  /** Returns the CSI driver of a volume that must still move. */
  driverToMove(volume: string, nodeName: string): string | undefined {
    if (this.#attachmentsOf(volume).some(({ spec }) => spec.nodeName !== nodeName)) return undefined;
    const csi = this.#caches.volumes.store.get(volume)?.spec.csi;
    return typeof csi === 'object' && csi !== null && 'driver' in csi ? String(csi.driver) : undefined;
  }
}
