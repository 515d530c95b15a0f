import { type Machine, machines } from '@mcm/api';
import type { KubeClient } from '@mcm/kube';

/**
 * Reads the machines from the server, because with outdated data the caller could delete a VM or Node that is in use.
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
