import { CloudError } from '../context/errors.ts';
import { machineType } from './machine-types.ts';
import type { CloudState } from './state.ts';

export interface Demand {
  readonly zone: string;
  readonly cpus: number;
  readonly volumes: number;
}

interface Usage {
  instances: number;
  cpus: number;
  inZone: number;
}

/**
 * Checks the quotas for a new instance.
 * @throws {CloudError} QuotaExceeded if a limit of the account is exceeded, InsufficientCapacity if the zone is full
 */
export function requireRoom(state: CloudState, demand: Demand): void {
  const { instances, cpus, zoneCapacity, volumes } = state.quotas;
  if (instances !== undefined || cpus !== undefined || zoneCapacity !== undefined) {
    const used = usage(state, demand.zone);
    limit('instances', used.instances + 1, instances);
    limit('cpus', used.cpus + demand.cpus, cpus);
    const room = zoneCapacity?.[demand.zone];
    if (room !== undefined && used.inZone + 1 > room)
      throw new CloudError('InsufficientCapacity', `Zone ${demand.zone} has no capacity for another instance.`);
  }
  if (demand.volumes > 0) limit('volumes', state.volumes.size + demand.volumes, volumes);
}

/** @throws {CloudError} QuotaExceeded */
export function requireVolumeRoom(state: CloudState): void {
  limit('volumes', state.volumes.size + 1, state.quotas.volumes);
}

function limit(quota: string, wanted: number, allowed: number | undefined): void {
  if (allowed !== undefined && wanted > allowed)
    throw new CloudError('QuotaExceeded', `Quota ${quota} is ${allowed}; this request would need ${wanted}.`);
}

function usage(state: CloudState, zone: string): Usage {
  const used: Usage = { instances: 0, cpus: 0, inZone: 0 };
  for (const instance of state.instances.values()) {
    if (instance.state === 'terminated') continue;
    // A stopped instance uses no capacity, as in real clouds.
    if (instance.state === 'stopped') continue;
    used.instances += 1;
    used.cpus += machineType(instance.machineType).cpus;
    if (instance.zone === zone) used.inZone += 1;
  }
  return used;
}
