import type { AlternativeRules } from '@mcm/core/driver';
import type { LocalProviderSpec } from '../spec/schemas.ts';

/** A machine that is a Pod ignores the machine type and the zone. */
export const alternatives: AlternativeRules<LocalProviderSpec> = {
  fields: ['machineType', 'zone'],
  apply: (spec, { machineType, zone }) => {
    const placed = zone === undefined ? spec : { ...spec, zone };
    if (machineType === undefined) return placed;
    const { instanceType: _, ...others } = placed;
    return { ...others, machineType };
  },
  offering: ({ zone = '', machineType, instanceType = '' }) => ({
    region: '',
    zone,
    subnet: '',
    machineType: machineType ?? instanceType,
    market: '',
  }),
};
