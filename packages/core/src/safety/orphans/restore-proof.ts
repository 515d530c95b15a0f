import { type Machine, parseTime } from '@mcm/api';
import type { LeaseVacancy } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * A VM that was created within this time after the last renewal of the Lease proves nothing. The time covers the
 * longest `create` call and the largest difference between the clocks of the cloud and the controller.
 */
const MARGIN_MS = 120_000;

export interface RestoreView {
  /** Periods without a holder of the machine controller's Lease, according to the API server. */
  readonly times: readonly LeaseVacancy[];
  /** The VMs of a class that this control cluster may have created. */
  readonly vms: readonly ListedInstance[];
  readonly withoutMachine: readonly ListedInstance[];
  /** Returns the machines whose provider ID may be the ID of the VM. */
  readonly recorders: (vm: ListedInstance) => readonly Machine[];
  /**
   * The UID of the control cluster, or undefined if the UID is unknown. With an unknown UID, new VMs have no tag of the
   * control cluster.
   */
  readonly owner: string | undefined;
}

/**
 * Detects a restore of the API server. The proof is a VM without a machine that was created while no process held the
 * Lease. Only the holder of the Lease creates VMs. The API server must therefore have lost the machine of the VM and
 * the renewals of the Lease.
 *
 * If another VM from the period is newer than its machine, a controller ran without leader election. The proof is then
 * invalid.
 */
export function findRestore({
  times,
  vms,
  withoutMachine,
  recorders,
  owner,
}: RestoreView): { readonly vm: ListedInstance; readonly time: LeaseVacancy } | undefined {
  for (const time of times.toReversed()) {
    const isOf = (vm: ListedInstance): boolean => isWithin(vm, time) && (owner === undefined || vm.owner === owner);
    const vm = withoutMachine.find(isOf);
    if (vm && !vms.some((each) => isOf(each) && isYounger(each, recorders(each)))) return { vm, time };
  }
  return undefined;
}

function isWithin({ createdAt }: ListedInstance, { from, to }: LeaseVacancy): boolean {
  const made = parseTime(createdAt);
  return made !== undefined && made.getTime() > from.getTime() + MARGIN_MS && made <= to;
}

function isYounger({ createdAt, providerId }: ListedInstance, recorders: readonly Machine[]): boolean {
  const made = parseTime(createdAt);
  return recorders.some(({ metadata, spec }) => {
    const machine = parseTime(metadata.creationTimestamp);
    const isOwn = isInstance(spec.providerID, providerId);
    return isOwn && made !== undefined && machine !== undefined && machine <= made;
  });
}
