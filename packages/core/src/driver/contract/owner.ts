import type { Machine } from '@mcm/api';
import { MachineError } from './errors.ts';

/**
 * The key of the VM tag or label that identifies the control cluster. The value of the owner tag is the UID of the
 * namespace of the Machines. Two control clusters with the same cloud account and cluster tag list each other's VMs.
 * Without the owner tag, a control cluster would delete the VMs of another control cluster as orphans.
 */
export const OWNER_TAG = 'mcm-control-cluster';

/** Returns the tags that a driver adds to a new VM. Without a known control cluster, the VM gets no tags. */
export const ownerTags = ({ owner }: { readonly owner?: string | undefined }): Readonly<Record<string, string>> =>
  owner === undefined ? {} : { [OWNER_TAG]: owner };

interface Asked {
  readonly owner?: string | undefined;
  readonly formerOwners?: readonly string[] | undefined;
  readonly machine: Machine;
}

/**
 * Returns true if the tags of a VM name another control cluster. The machine controller neither adopts nor deletes a VM
 * of another control cluster.
 */
export function isOthers({ owner, formerOwners = [], machine }: Asked, tags: unknown): boolean {
  const made = ownerOf(tags).owner;
  if (machine.spec.providerID || owner === undefined || made === undefined) return false;
  return made !== owner && !formerOwners.includes(made);
}

/**
 * Throws if a VM belongs to another control cluster. Drivers of clouds with unique VM names call `refuseOthers`.
 * @throws MachineError `AlreadyExists`, or `NotFound` for a machine that is being deleted
 */
export function refuseOthers(asked: Asked, tags: unknown): void {
  if (!isOthers(asked, tags)) return;
  const { name, deletionTimestamp } = asked.machine.metadata;
  throw new MachineError(
    deletionTimestamp === undefined ? 'AlreadyExists' : 'NotFound',
    `another control cluster (${ownerOf(tags).owner}) created VM ${name}; if this cluster replaced that cluster, add its UID to --orphan-former-owners`,
  );
}

/** Returns the control cluster from the tags of a VM. */
export function ownerOf(tags: unknown): { readonly owner?: string } {
  const owner = typeof tags === 'object' && tags !== null && OWNER_TAG in tags ? tags[OWNER_TAG] : undefined;
  return typeof owner === 'string' && owner !== '' ? { owner } : {};
}
