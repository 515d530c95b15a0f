import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { EvictionRules } from './eviction-rules.ts';

export const EVICTION_RULES: EvictionRules = {
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  largeClusterSizeThreshold: 50,
  unhealthyZoneThreshold: 0.55,
};

const FEW = 2;
const EXCLUDED = 'node.kubernetes.io/exclude-disruption';
const ZONE_LABELS = ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'];
const REGION_LABELS = ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'];

export function zoneOf({ metadata: { labels = {} } }: ApiObject): string {
  const first = (keys: readonly string[]): string => labels[keys.find((key) => labels[key] !== undefined) ?? ''] ?? '';
  const [region, zone] = [first(REGION_LABELS), first(ZONE_LABELS)];
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`;
}

export const countsInZone = ({ metadata }: ApiObject): boolean => metadata.labels?.[EXCLUDED] === undefined;

export type ZoneState = 'Initial' | 'Normal' | 'PartialDisruption' | 'FullDisruption';

export interface ZoneCount {
  readonly ready: number;
  readonly notReady: number;
}

export function zoneState({ ready, notReady }: ZoneCount, { unhealthyZoneThreshold }: EvictionRules): ZoneState {
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  const isMuch = notReady > FEW && notReady / (notReady + ready) >= unhealthyZoneThreshold;
  return isMuch ? 'PartialDisruption' : 'Normal';
}

export function evictionRate(state: ZoneState, { ready, notReady }: ZoneCount, rules: EvictionRules): number {
  if (state !== 'PartialDisruption') return rules.nodeEvictionRate;
  return ready + notReady > rules.largeClusterSizeThreshold ? rules.secondaryNodeEvictionRate : 0;
}

export interface Disruption {
  /**
   * The change of the cluster. The value `enter` means that all zones have become unreachable, probably because the
   * controller lost its network.
   */
  readonly change: 'enter' | 'leave' | 'none';
  readonly states: ReadonlyMap<string, ZoneState>;
  readonly rates: ReadonlyMap<string, number>;
}

export function assessZones(
  counts: ReadonlyMap<string, ZoneCount>,
  before: ReadonlyMap<string, ZoneState>,
  rules: EvictionRules,
): Disruption {
  const states = new Map([...counts].map(([zone, count]) => [zone, zoneState(count, rules)]));
  const rates = new Map<string, number>();
  const was = new Map([...counts.keys()].map((zone) => [zone, before.get(zone) ?? 'Initial']));
  const allAre = [...states.values()].every((state) => state === 'FullDisruption');
  const allWere = [...was.values()].every((state) => state === 'FullDisruption');
  if (allAre && allWere) return { change: 'none', states, rates };
  if (allAre) {
    for (const zone of counts.keys()) rates.set(zone, 0);
    return { change: 'enter', states, rates };
  }
  for (const [zone, count] of counts) {
    const state = states.get(zone) ?? 'Normal';
    if (allWere || was.get(zone) !== state) rates.set(zone, evictionRate(state, count, rules));
  }
  return { change: allWere ? 'leave' : 'none', states, rates };
}
