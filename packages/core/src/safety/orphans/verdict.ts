import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { OrphanOptions } from './orphan-options.ts';
import { type QuarantineView, quarantineReason, quarantineText } from './quarantine.ts';
import type { Use } from './served.ts';

export const DELETED = 'it is deleted';
const DRAINED = 'it is drained and then deleted';
const QUARANTINED = 'it is in quarantine';

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
    return `it is kept because Node ${use.node.metadata.name} runs on it and is Ready. Restore the machine's spec.providerID if it was edited`;
  if (policy === 'report') return 'mcm keeps it because of --orphan-policy=report';
  const because = quarantineReason(vm, view);
  if (because !== undefined) return quarantineText(vm, because);
  if (heldUntil && now < heldUntil)
    return `it is kept until ${heldUntil.toISOString()}: its Node and pods are unknown. Restart the kubelet, so that mcm can drain the Node`;
  if (!admitted) return 'its deletion waits for the limit of deletions per hour';
  return use.use === 'unclaimed' ? `${DRAINED}: Node ${use.node.metadata.name} runs on it and is Ready` : DELETED;
}

export const isDrained = (verdict: string): boolean => verdict.startsWith(DRAINED);

export const isQuarantined = (verdict: string): boolean => verdict.startsWith(QUARANTINED);
