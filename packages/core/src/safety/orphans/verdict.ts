import { Annotations, formatDurationMs } from '@mcm/api';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { OrphanOptions } from './orphan-options.ts';
import { isReleased, type QuarantineView, quarantineReason, quarantineText } from './quarantine.ts';
import type { Use } from './served.ts';

export const DELETED = 'mcm deletes the VM';
const DRAINED = 'mcm drains and then';
const STOPPED = 'mcm stops the VM';
const QUARANTINED = 'the VM is in quarantine';

export interface OrphanVmInput {
  readonly vm: ListedInstance;
  readonly use: Use;
  readonly view: QuarantineView;
  readonly policy: OrphanOptions['policy'];
  readonly heldUntil?: Date | undefined;
  /** The time for which a VM is stopped before its deletion, or undefined if VMs are not stopped. */
  readonly stop?: { readonly forMs: number; readonly until?: Date | undefined } | undefined;
  readonly admitted: boolean;
}

export function orphanVerdict(input: OrphanVmInput, now: Date): string {
  const { vm, use, view, policy, heldUntil, admitted } = input;
  const stop = isReleased(vm, view) ? undefined : input.stop;
  if (use.use === 'claimed')
    return `mcm keeps the VM because its Node ${use.node.metadata.name} is Ready. If a user edited spec.providerID of the machine, restore the field`;
  if (policy === 'report') return 'mcm keeps the object because of --orphan-policy=report';
  const because = quarantineReason(vm, view);
  if (because !== undefined) return quarantineText(vm, because);
  if (heldUntil && now < heldUntil)
    return `mcm keeps the VM until ${heldUntil.toISOString()}, because its Node and pods are unknown. Restart the kubelet, so that mcm can drain the Node`;
  if (stop?.until && now < stop.until) return stoppedText(vm, stop.until);
  if (!admitted) return 'the deletion of the VM waits, because the limit of deletions per hour is reached';
  const stops = stop !== undefined && stop.until === undefined;
  if (use.use === 'unclaimed')
    return `${DRAINED} ${stops ? 'stops' : 'deletes'} the VM: its Node ${use.node.metadata.name} is Ready`;
  return stops ? `${STOPPED}, and deletes the VM ${formatDurationMs(stop.forMs)} later` : DELETED;
}

const stoppedText = ({ providerId, machineName }: ListedInstance, until: Date): string =>
  `mcm has stopped the VM, and deletes the VM at ${until.toISOString()}. To keep the VM, start the VM in the cloud and create Machine ${machineName} again with the same spec.providerID. To delete the VM now, add ${providerId} to annotation ${Annotations.ReleaseVMs} of the MachineClass`;

/** Returns true if the drained VM must be stopped now. */
export const isStopped = (verdict: string): boolean => verdict.startsWith(STOPPED);

export const stopsAfterDrain = (verdict: string): boolean => verdict.startsWith(`${DRAINED} stops`);

export const isDrained = (verdict: string): boolean => verdict.startsWith(DRAINED);

export const isQuarantined = (verdict: string): boolean => verdict.startsWith(QUARANTINED);
