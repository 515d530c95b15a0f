import type { Machine } from '@mcm/api';
import { MachineError } from './errors.ts';

/**
 * Tag or label of a VM with the control cluster that created it. The value is the UID of the namespace of its Machines.
 * Two control clusters with the same cloud account and cluster tag list each other's VMs. With this tag, neither of them
 * takes the other's VMs for its own orphans.
 */
export const OWNER_TAG = 'mcm-control-cluster';

/** The tags that a driver adds to a new VM. */
export const ownerTags = ({ owner }: { readonly owner?: string | undefined }): Readonly<Record<string, string>> =>
  owner === undefined ? {} : { [OWNER_TAG]: owner };

/** The control cluster of a request, and the machine. */
interface Asked {
  readonly owner?: string | undefined;
  readonly formerOwners?: readonly string[] | undefined;
  readonly machine: Machine;
}

/**
 * Returns true if the tags of a VM with the machine's name show another control cluster. Such a VM is neither adopted
 * nor deleted. A process that does not know its own control cluster takes all VMs for its own.
 */
export function isOthers({ owner, formerOwners = [], machine }: Asked, tags: unknown): boolean {
  const made = ownerOf(tags).owner;
  if (machine.spec.providerID || owner === undefined || made === undefined) return false;
  return made !== owner && !formerOwners.includes(made);
}

/**
 * For clouds in which names are unique: no VM can be created next to a VM of another control cluster. A machine that is
 * being deleted has no VM then.
 * @throws MachineError `AlreadyExists`, or `NotFound` for a machine that is being deleted
 */
export function refuseOthers(asked: Asked, tags: unknown): void {
  if (!isOthers(asked, tags)) return;
  const { name, deletionTimestamp } = asked.machine.metadata;
  throw new MachineError(
    deletionTimestamp === undefined ? 'AlreadyExists' : 'NotFound',
    `VM ${name} was created by another control cluster (${ownerOf(tags).owner}); if this cluster replaced it, add it to --orphan-former-owners`,
  );
}

/** Returns the owner of a listed VM from its tags. */
export function ownerOf(tags: unknown): { readonly owner?: string } {
  const owner = typeof tags === 'object' && tags !== null && OWNER_TAG in tags ? tags[OWNER_TAG] : undefined;
  return typeof owner === 'string' && owner !== '' ? { owner } : {};
}
