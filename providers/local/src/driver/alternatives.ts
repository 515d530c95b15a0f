import type { AlternativeRules } from '@mcm/core/driver';
import type { LocalProviderSpec } from '../spec/schemas.ts';

/** The rules for capacity alternatives. If machines are Pods, the machine type and the zone have no effect. */
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
