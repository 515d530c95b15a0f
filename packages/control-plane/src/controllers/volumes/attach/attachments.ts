import { createHash } from 'node:crypto';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, strings } from '../../../apimachinery/objects/plain.ts';
import { conditionOf } from '../../runtime/objects.ts';

/** Returns the name of an attachment: `csi-` and a hash, as in the real controller. */
export const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

/**
 * Returns whether an attachment has a name of this controller. The controller does not change attachments of other
 * clients.
 */
export const isOwnAttachment = ({ metadata }: ApiObject): boolean => /^csi-[0-9a-f]{64}$/.test(metadata.name ?? '');

/** Returns the unique name of a CSI volume in the status of nodes. */
export const volumeId = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

/**
 * Returns whether a volume may be attached to several nodes at the same time. Any number of nodes may attach a volume
 * without access modes.
 */
export function isShared(volume: ApiObject): boolean {
  const modes = strings(look(volume, 'spec'), 'accessModes');
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany');
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Returns whether an administrator has marked the node as out of service. */
export const isOutOfService = (node: ApiObject | undefined): boolean =>
  items(look(node, 'spec'), 'taints').some(({ key }) => key === OUT_OF_SERVICE);

/** Returns the fields of a node that decide whether its volumes may be detached, as a text for comparison. */
export const detachView = (node: ApiObject | undefined): string => {
  const inUse = strings(look(node, 'status'), 'volumesInUse').join();
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')?.status;
  return `${inUse} ${ready} ${isOutOfService(node)}`;
};

/**
 * Returns the message for a pod whose volume is attached to another node. The message names the pods that use the volume.
 */
export function takenMessage(near: readonly (string | undefined)[], far: number): string {
  if (near.length + far === 0)
    return "Volume is already exclusively attached to one node and can't be attached to another";
  const elsewhere = `${far} pod(s) in different namespaces`;
  if (near.length === 0) return `Volume is already used by ${elsewhere}`;
  return `Volume is already used by pod(s) ${near.join(', ')}${far === 0 ? '' : ` and ${elsewhere}`}`;
}
