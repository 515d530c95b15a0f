import { type Machine, parseTime } from '@mcm/api';
import type { LeaseVacancy } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * A VM that was created within this time after the last renewal of the Lease proves nothing. The margin covers the
 * longest `create` call and the largest difference between the clocks of the cloud and the controller.
 */
const MARGIN_MS = 120_000;

export interface RestoreView {
  readonly times: readonly LeaseVacancy[];
  readonly vms: readonly ListedInstance[];
  readonly withoutMachine: readonly ListedInstance[];
  readonly recorders: (vm: ListedInstance) => readonly Machine[];
  readonly owner: string | undefined;
}

/**
 * Detects a restore of the API server. A VM without a machine proves a restore if the VM was created while no process
 * held the Lease. Only the holder of the Lease creates VMs, so the API server must have lost the machine and the
 * renewals of the Lease.
 *
 * The proof is invalid if another VM from the same period is newer than its own machine. Such a VM shows that a
 * controller ran without leader election.
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
