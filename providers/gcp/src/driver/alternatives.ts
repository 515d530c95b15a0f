import type { Alternative, AlternativeRules } from '@mcm/core/driver';
import type { GcpProviderSpec } from '../spec/schemas.ts';

const ON_DEMAND = 'on-demand';

/**
 * Returns the provider spec with another market. A preemptible VM has no other scheduling settings, because Compute
 * Engine never restarts it.
 */
function withMarket({ scheduling, ...spec }: GcpProviderSpec, market: Alternative['market']): GcpProviderSpec {
  if (market === undefined) return scheduling ? { ...spec, scheduling } : spec;
  if (market === ON_DEMAND) return { ...spec, scheduling: { ...scheduling, preemptible: false } };
  const preemptible = { preemptible: true, automaticRestart: false, onHostMaintenance: 'TERMINATE' };
  return { ...spec, scheduling: { ...scheduling, ...preemptible } };
}

function problem(spec: GcpProviderSpec, { zone }: Alternative): string | undefined {
  const { region = '' } = spec;
  if (zone !== undefined && !zone.startsWith(`${region}-`))
    return `zone: ${zone} is not in region ${region}, which has the subnetworks; write a zone of this region`;
  const pool = spec.disks?.findIndex(({ storagePool }) => Boolean(storagePool)) ?? -1;
  if (zone !== undefined && zone !== spec.zone && pool >= 0)
    return `zone: disks[${pool}] uses a storage pool, which has one zone; remove storagePool from the provider spec`;
  return undefined;
}

/** The rules for capacity alternatives. The market `spot` means a preemptible VM. */
export const alternatives: AlternativeRules<GcpProviderSpec> = {
  fields: ['machineType', 'zone', 'subnet', 'market'],
  apply: (spec, { machineType = spec.machineType, zone = spec.zone, subnet, market }) => ({
    ...withMarket(spec, market),
    machineType,
    zone,
    networkInterfaces:
      subnet === undefined
        ? spec.networkInterfaces
        : (spec.networkInterfaces ?? []).map((nic) => ({ ...nic, subnetwork: subnet })),
  }),
  problem,
  offering: ({ region = '', zone = '', machineType = '', networkInterfaces, scheduling }) => ({
    region,
    zone,
    subnet: networkInterfaces?.[0]?.subnetwork ?? '',
    machineType,
    market: scheduling?.preemptible ? 'spot' : ON_DEMAND,
  }),
  // Each zone needs its own listing, because Compute Engine lists instances by zone.
  listing: ({ zone = '' }) => zone,
};
