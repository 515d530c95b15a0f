import type { ZoneOutlook } from '@mcm/core';

const STATES = {
  open: '',
  evacuated: ' (evacuated: mcm moves the machines to other zones)',
  standby: ' (on standby: the machines of the zone are unreachable, so mcm creates no machines there)',
  short: ' (no capacity during the evacuation, so mcm creates machines in other zones)',
} as const satisfies Readonly<Record<ZoneOutlook['zones'][number]['state'], string>>;

/**
 * Returns lines about zones: the machines of each zone, the zone of the next machine, and zones whose limit delays the
 * rollout.
 */
export function zoneLines(outlook: ZoneOutlook | undefined): readonly string[] {
  if (!outlook) return [];
  const { zones, next } = outlook;
  const counts = zones.map(({ name, machines, state }) => `${name} ${machines}${STATES[state]}`);
  const full = zones.flatMap(({ name, room }) =>
    room && room.missing >= room.limit
      ? [`zone ${name}: ${room.missing} missing, at most ${room.limit} may be missing; the rollout waits in this zone`]
      : [],
  );
  return [
    `machines by zone: ${counts.join(', ')}`,
    ...full,
    `zone of the next new machine: ${next.zone}, because ${next.because}`,
  ];
}
