import { Annotations, formatTime } from '@mcm/api';
import { isAvailable } from '../../objects/machines.ts';
import { isLost, zoneStates } from '../../zones/spread.ts';
import type { PlannedEvent } from '../state/rollback.ts';
import type { View } from '../state/view.ts';
import { zonesOf } from './zone-step.ts';

/** A zone without machines leaves standby after this time, so that its next machine shows whether the zone works. */
export const RETRY_MS = 30 * 60_000;

export interface StandbyChange {
  /** The value of the annotation with the zones on standby, null to remove it, or undefined to keep it. */
  readonly text?: string | null | undefined;
  readonly events: readonly PlannedEvent[];
  readonly lookAgainAt?: Date | undefined;
}

/** A zone is lost when all its machines are down, and returns when one of its machines is available again. */
export function standbyOf(view: View): StandbyChange {
  const { deployment, now } = view;
  const stored = deployment.metadata.annotations?.[Annotations.ZonesStandby];
  const input = zonesOf(view);
  if (!input) return { events: [], text: stored === undefined ? undefined : null };
  const entries: string[] = [];
  const events: PlannedEvent[] = [];
  const ends: number[] = [];
  for (const { zone, staying } of zoneStates(input)) {
    const since = input.setting.standby.get(zone.name);
    const end = since !== undefined && staying.length === 0 ? since + RETRY_MS : undefined;
    const stays = since !== undefined && !staying.some(isAvailable) && (end === undefined || end > now.getTime());
    if (stays && end !== undefined) ends.push(end);
    if (stays || isLost(staying)) {
      entries.push(`${zone.name}=${formatTime(new Date(stays ? since : now.getTime()))}`);
      if (since === undefined) events.push(lost(zone.name, staying.length));
    } else if (since !== undefined) events.push(returned(zone.name, staying.length));
  }
  const text = entries.join(',');
  return {
    text: text === (stored ?? '') ? undefined : text || null,
    events,
    lookAgainAt: ends.length === 0 ? undefined : new Date(Math.min(...ends)),
  };
}

const lost = (zone: string, machines: number): PlannedEvent => ({
  type: 'Warning',
  reason: 'ZoneStandby',
  message: `All ${machines} machines of zone ${zone} are unreachable. mcm creates machines in other zones until a machine of zone ${zone} is Ready.`,
});

const returned = (zone: string, machines: number): PlannedEvent => ({
  type: 'Normal',
  reason: 'ZoneReturned',
  message:
    machines > 0
      ? `A machine of zone ${zone} is Ready. mcm creates machines in zone ${zone} again.`
      : `Zone ${zone} has no machines. mcm creates machines in zone ${zone} again, to test whether the zone works.`,
});
