import { Annotations, formatTime } from '@mcm/api';
import { zoneStates } from '../../zones/spread.ts';
import { isStuck } from '../../zones/stuck.ts';
import type { PlannedEvent } from '../state/rollback.ts';
import type { View } from '../state/view.ts';
import { RETRY_MS, type StandbyChange } from './standby.ts';
import { zonesOf } from './zone-step.ts';

/** Records the zones without capacity. After RETRY_MS, new machines show whether a zone has capacity again. */
export function shortageOf(view: View): StandbyChange {
  const { deployment, now } = view;
  const stored = deployment.metadata.annotations?.[Annotations.ZonesShort];
  const input = zonesOf(view);
  if (!input) return { events: [], text: stored === undefined ? undefined : null };
  const { short, evacuated } = input.setting;
  const states = zoneStates(input);
  const isKept = (since: number) => evacuated.size > 0 && since + RETRY_MS > now.getTime();
  const kept = new Map([...short].filter(([, since]) => isKept(since)));
  const events: PlannedEvent[] = [...short.keys()].filter((zone) => !kept.has(zone)).map(returned);
  if (evacuated.size > 0) {
    const usable = states.filter((state) => !state.evacuated && !state.standby && !kept.has(state.zone.name));
    const full = usable.filter(({ staying }) => staying.some(isStuck));
    // The last zone stays open, because the machines of evacuated zones need a zone.
    for (const { zone } of full.length < usable.length ? full : []) {
      kept.set(zone.name, now.getTime());
      events.push(found(zone.name));
    }
  }
  const text = [...kept].map(([zone, since]) => `${zone}=${formatTime(new Date(since))}`).join(',');
  return {
    text: text === (stored ?? '') ? undefined : text || null,
    events,
    lookAgainAt: kept.size === 0 ? undefined : new Date(Math.min(...kept.values()) + RETRY_MS),
  };
}

const found = (zone: string): PlannedEvent => ({
  type: 'Warning',
  reason: 'ZoneShort',
  message: `The cloud has no capacity in zone ${zone}. mcm creates the replacement machines in other zones.`,
});

const returned = (zone: string): PlannedEvent => ({
  type: 'Normal',
  reason: 'ZoneReturned',
  message: `mcm creates machines in zone ${zone} again, to test whether the zone has capacity.`,
});
