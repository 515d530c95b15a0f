import type { Alternative, AlternativeRules } from '@mcm/core/driver';
import type { AwsProviderSpec } from '../spec/schemas.ts';

const SPOT = 'spot';

/** Returns the market of a class, spot or on-demand, with the rules of `run-instances.ts`. */
const marketOf = ({ instanceMarketOptions, spotPrice }: AwsProviderSpec): string => {
  if (instanceMarketOptions) return instanceMarketOptions.marketType ?? '';
  return spotPrice === undefined ? 'on-demand' : SPOT;
};

function withMarket(spec: AwsProviderSpec, market: Alternative['market']): AwsProviderSpec {
  if (market === undefined || market === marketOf(spec)) return spec;
  const { instanceMarketOptions: _, spotPrice: __, ...onDemand } = spec;
  return market === SPOT ? { ...onDemand, instanceMarketOptions: { marketType: SPOT } } : onDemand;
}

function problem(spec: AwsProviderSpec, { machineType, zone, subnet, market }: Alternative): string | undefined {
  const { capacityReservationId } = spec.capacityReservation ?? {};
  if (zone !== undefined && subnet === undefined)
    return 'zone: EC2 takes the zone from the subnet; set subnet to a subnet of the zone';
  const changed = machineType ? 'machineType' : subnet ? 'subnet' : 'market';
  if (capacityReservationId)
    return `${changed}: each capacity reservation has one type and one zone; remove capacityReservation from the provider spec`;
  if (market !== undefined && ![SPOT, 'on-demand'].includes(marketOf(spec)))
    return `market: the provider spec has the market ${marketOf(spec)}; remove market`;
  return undefined;
}

/**
 * The image is not an alternative, so the image of a class must be compatible with every instance type of its
 * alternatives.
 */
export const alternatives: AlternativeRules<AwsProviderSpec> = {
  fields: ['machineType', 'zone', 'subnet', 'market'],
  apply: (spec, { machineType = spec.machineType, subnet, market }) => ({
    ...withMarket(spec, market),
    machineType,
    networkInterfaces:
      subnet === undefined
        ? spec.networkInterfaces
        : (spec.networkInterfaces ?? []).map((nic) => ({ ...nic, subnetID: subnet })),
  }),
  problem,
  offering: (spec) => ({
    region: spec.region ?? '',
    zone: '',
    subnet: spec.networkInterfaces?.[0]?.subnetID ?? '',
    machineType: spec.machineType ?? '',
    market: marketOf(spec),
  }),
};
