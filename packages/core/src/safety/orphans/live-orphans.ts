import { type Machine, machines } from '@mcm/api';
import type { KubeClient } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { instanceKey } from '../../node/instance.ts';
import type { Listing } from './listings.ts';
import { NodesOfVms, type NodesOfVmsOptions } from './nodes-of-vms.ts';
import { isOrphan } from './orphan-vms.ts';
import type { Use } from './served.ts';

export interface LiveOrphan {
  readonly vm: ListedInstance;
  readonly machine: Machine | undefined;
  readonly use: Use;
}

export interface LiveOrphansOptions extends NodesOfVmsOptions {
  readonly control: KubeClient;
  readonly namespace: string;
}

/**
 * Reads all machines from the API server. With an outdated list of machines, mcm could delete a VM or Node that is in
 * use.
 */
export async function liveMachines(control: KubeClient, namespace: string): Promise<ReadonlyMap<string, Machine>> {
  const found = new Map<string, Machine>();
  let token: string | undefined;
  do {
    const page = await control.resource(machines, namespace).list({ limit: 500, continue: token });
    for (const machine of page.items) found.set(machine.metadata.name, machine);
    token = page.metadata.continue;
  } while (token);
  return found;
}

/**
 * Returns the VMs that have no machine, from a list of machines that is newer than the list of VMs.
 * @throws KubeError
 */
export async function liveOrphans(
  options: LiveOrphansOptions,
  vms: readonly ListedInstance[],
  listing: Listing,
): Promise<readonly LiveOrphan[]> {
  const live = await liveMachines(options.control, options.namespace);
  const recorders = Map.groupBy(live.values(), ({ spec }) => instanceKey(spec.providerID ?? ''));
  const nodes = new NodesOfVms(options);
  const orphans: LiveOrphan[] = [];
  for (const vm of vms) {
    const machine = live.get(vm.machineName);
    if (!isOrphan(vm, machine, recorders.get(instanceKey(vm.providerId)))) continue;
    orphans.push({ vm, machine, use: await nodes.useOf({ vm, machine, listed: listing.vms }) });
  }
  return orphans;
}
