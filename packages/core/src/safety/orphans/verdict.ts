import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { OrphanOptions } from './orphan-options.ts';
import { type QuarantineView, quarantineReason, quarantineText } from './quarantine.ts';
import type { Use } from './served.ts';

export const DELETED = 'mcm deletes the VM';
const DRAINED = 'mcm drains and then deletes the VM';
const QUARANTINED = 'the VM is in quarantine';

export interface OrphanVmInput {
  readonly vm: ListedInstance;
  readonly use: Use;
  readonly view: QuarantineView;
  readonly policy: OrphanOptions['policy'];
  /** The time until which a VM without a Node is kept. */
  readonly heldUntil?: Date | undefined;
  /** True if the limit of deletions per hour allows the deletion. */
  readonly admitted: boolean;
}

/** The function is pure. */
export function orphanVerdict({ vm, use, view, policy, heldUntil, admitted }: OrphanVmInput, now: Date): string {
  if (use.use === 'claimed')
    return `mcm keeps the VM because its Node ${use.node.metadata.name} is Ready. If a user edited spec.providerID of the machine, restore the field`;
  if (policy === 'report') return 'mcm keeps the object because of --orphan-policy=report';
  const because = quarantineReason(vm, view);
  if (because !== undefined) return quarantineText(vm, because);
  if (heldUntil && now < heldUntil)
    return `mcm keeps the VM until ${heldUntil.toISOString()}, because its Node and pods are unknown. Restart the kubelet, so that mcm can drain the Node`;
  if (!admitted) return 'the deletion waits, because of the limit of deletions per hour';
  return use.use === 'unclaimed' ? `${DRAINED}: its Node ${use.node.metadata.name} is Ready` : DELETED;
}

export const isDrained = (verdict: string): boolean => verdict.startsWith(DRAINED);

export const isQuarantined = (verdict: string): boolean => verdict.startsWith(QUARANTINED);
