import type { Alternative, AlternativeRules } from '@mcm/core/driver';
import type { AzureProviderSpec, Properties } from './schemas.ts';

const SPOT = 'Spot';

const priorityOf = (market: Alternative['market']): string => (market === 'spot' ? SPOT : 'Regular');

function problem({ properties = {} }: AzureProviderSpec, { zone }: Alternative): string | undefined {
  if (zone === undefined) return undefined;
  if (!/^[1-9]\d?$/.test(zone)) return `zone: is "${zone}"; write the number of an availability zone such as "2"`;
  if (properties.zone === undefined)
    return 'zone: the VMs of the class have no zone; set properties.zone in the provider spec';
  return undefined;
}

function propertiesWith(properties: Properties, { machineType, zone, market }: Alternative): Properties {
  const { hardwareProfile } = properties;
  return {
    ...properties,
    hardwareProfile: machineType === undefined ? hardwareProfile : { ...hardwareProfile, vmSize: machineType },
    zone: zone === undefined ? properties.zone : Number(zone),
    priority: market === undefined ? properties.priority : priorityOf(market),
  };
}

/** The rules for capacity alternatives. The market selects the priority of the VM. */
export const alternatives: AlternativeRules<AzureProviderSpec> = {
  fields: ['machineType', 'zone', 'subnet', 'market'],
  apply: ({ properties = {}, subnetInfo, ...spec }, alternative) => ({
    ...spec,
    properties: propertiesWith(properties, alternative),
    subnetInfo: alternative.subnet === undefined ? subnetInfo : { ...subnetInfo, subnetName: alternative.subnet },
  }),
  problem,
  offering: ({ location, properties = {}, subnetInfo }) => ({
    region: location ?? '',
    zone: properties.zone === undefined ? '' : String(properties.zone),
    subnet: subnetInfo?.subnetName ?? '',
    machineType: properties.hardwareProfile?.vmSize ?? '',
    market: properties.priority === SPOT ? 'spot' : 'on-demand',
  }),
};
