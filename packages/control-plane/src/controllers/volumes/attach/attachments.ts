import { createHash } from 'node:crypto';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, strings } from '../../../apimachinery/objects/plain.ts';
import { conditionOf } from '../../objects/fields.ts';

/** Returns the name of a VolumeAttachment: `csi-` and a hash, as in kube-controller-manager. */
export const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

/** Returns whether this controller created the VolumeAttachment. */
export const isOwnAttachment = ({ metadata }: ApiObject): boolean => /^csi-[0-9a-f]{64}$/.test(metadata.name ?? '');

export const volumeId = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

/** Returns whether a volume may be attached to several nodes. */
export function isShared(volume: ApiObject): boolean {
  const modes = strings(look(volume, 'spec'), 'accessModes');
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany');
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export const isOutOfService = (node: ApiObject | undefined): boolean =>
  items(look(node, 'spec'), 'taints').some(({ key }) => key === OUT_OF_SERVICE);

/**
 * Some fields of a node decide whether its volumes may be detached. Joins these fields to one text, so that the caller
 * can compare them.
 */
export const detachView = (node: ApiObject | undefined): string => {
  const inUse = strings(look(node, 'status'), 'volumesInUse').join();
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')?.status;
  return `${inUse} ${ready} ${isOutOfService(node)}`;
};

export function takenMessage(near: readonly (string | undefined)[], far: number): string {
  if (near.length + far === 0)
    return "Volume is already exclusively attached to one node and can't be attached to another";
  const elsewhere = `${far} pod(s) in different namespaces`;
  if (near.length === 0) return `Volume is already used by ${elsewhere}`;
  return `Volume is already used by pod(s) ${near.join(', ')}${far === 0 ? '' : ` and ${elsewhere}`}`;
}
