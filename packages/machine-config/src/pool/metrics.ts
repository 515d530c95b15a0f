import type { Informer, Meters, Sample } from '@mcm/kube';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

const VALUES: Readonly<Record<string, number>> = { True: 1, False: 0 };

/** Registers the metrics of pools: the numbers of nodes, and the conditions with the values 1, 0 or -1 (unknown). */
export function registerPoolMetrics(meters: Meters, pools: Pick<Informer<MachineConfigPool>, 'store'>): void {
  const all = (of: (pool: MachineConfigPool) => readonly Sample[]) => () => pools.store.list().flatMap(of);
  meters.observed(
    {
      name: 'mcc_pool_machines',
      help: 'Number of nodes of a pool, by state; the state total counts all nodes',
      labels: ['name', 'state'],
    },
    all(({ metadata: { name }, status = {} }) =>
      Object.entries({
        total: status.machineCount,
        updated: status.updatedMachineCount,
        ready: status.readyMachineCount,
        unavailable: status.unavailableMachineCount,
        degraded: status.degradedMachineCount,
      }).map(([state, value = 0]) => ({ labels: { name, state }, value })),
    ),
  );
  meters.observed(
    {
      name: 'mcc_pool_status_condition',
      help: 'Conditions of pools: 1 means True, 0 means False, -1 means Unknown',
      labels: ['name', 'condition'],
    },
    all(({ metadata: { name }, status }) =>
      (status?.conditions ?? []).map(({ type, status: value }) => ({
        labels: { name, condition: type },
        value: VALUES[value] ?? -1,
      })),
    ),
  );
}
