import { type Machine, parseTime } from '@mcm/api';
import type { LeaseVacancy } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * The margin after the last renewal of the Lease. The margin covers the maximum duration of a `create` call, and the
 * maximum difference between the clocks of the cloud and the controller.
 */
const MARGIN_MS = 120_000;

export interface RestoreView {
  /** The periods in which, according to the API server, no process held the Lease of the machine controller. */
  readonly times: readonly LeaseVacancy[];
  /** The VMs of a class that this control cluster may have created. */
  readonly vms: readonly ListedInstance[];
  readonly withoutMachine: readonly ListedInstance[];
  /** Returns the machines whose spec may contain the provider ID of a VM. */
  readonly recorders: (vm: ListedInstance) => readonly Machine[];
  /**
   * The UID of this control cluster, or undefined if it is unknown. With an unknown UID, new VMs have no tag of the
   * control cluster.
   */
  readonly owner: string | undefined;
}

/**
 * A VM without a machine that was created while no process held the Lease proves a restore of the API server. Only the
 * holder of the Lease creates VMs. The API server must therefore have lost the machine of the VM and the renewals of
 * the Lease.
 *
 * If another VM of this period is newer than its machine, a controller ran without leader election. No VM proves a
 * restore in this case.
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
