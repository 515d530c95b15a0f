import type { EventObject } from '../types/core.ts';

export interface Recorded {
  readonly involved: EventObject['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly at: Date;
  readonly once: boolean;
  readonly annotations: Record<string, string> | undefined;
}

export interface Series {
  readonly involved: EventObject['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  message: string;
  /** Whether the recorder writes the Event only once. */
  readonly once: boolean;
  readonly annotations: Record<string, string> | undefined;
  count: number;
  readonly first: Date;
  last: Date;
  /** All attempts to write an Event use one name, so that a lost response does not cause a second Event. */
  id: string | undefined;
  written: string | undefined;
  dirty: boolean;
  attempts: number;
}

interface Group {
  last: Date;
  readonly byMessage: Map<string, Series>;
  combined: Series | undefined;
}

const MAX_SIMILAR = 10;
const SIMILAR_WINDOW_MS = 10 * 60_000;
const MAX_GROUPS = 4096;
const COMBINED_PREFIX = '(combined from similar events): ';
/** The maximum length of a message, as for the field `note` in events.k8s.io/v1. */
const MAX_MESSAGE_LENGTH = 1024;

const capped = (message: string): string =>
  message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 3)}...`;

const startSeries = (event: Recorded, message: string): Series => ({
  involved: event.involved,
  type: event.type,
  reason: event.reason,
  message,
  once: event.once,
  annotations: event.annotations,
  count: 0,
  first: event.at,
  last: event.at,
  id: undefined,
  written: undefined,
  dirty: false,
  attempts: 0,
});

export class EventGroups {
  readonly #groups = new Map<string, Group>();

  add(event: Recorded): Series {
    const group = this.#group(event);
    const series = this.#series(group, event);
    series.count++;
    series.last = event.at;
    series.dirty = true;
    return series;
  }

  #group(event: Recorded): Group {
    const { kind, namespace, name, uid } = event.involved;
    const key = [event.type, event.reason, kind, namespace, name, uid].join('\u0000');
    const known = this.#groups.get(key);
    const stale = known !== undefined && event.at.getTime() - known.last.getTime() > SIMILAR_WINDOW_MS;
    const group: Group =
      known === undefined || stale ? { last: event.at, byMessage: new Map(), combined: undefined } : known;
    group.last = event.at;
    this.#groups.delete(key); // The map keeps the groups in the order of their last use.
    this.#groups.set(key, group);
    if (this.#groups.size > MAX_GROUPS) this.#groups.delete(this.#groups.keys().next().value ?? '');
    return group;
  }

  #series(group: Group, event: Recorded): Series {
    const message = capped(event.message);
    const same = group.byMessage.get(message);
    if (same !== undefined) return same;
    if (group.byMessage.size < MAX_SIMILAR) {
      const series = startSeries(event, message);
      group.byMessage.set(message, series);
      return series;
    }
    const combined = group.combined ?? startSeries(event, '');
    group.combined = combined;
    combined.message = capped(COMBINED_PREFIX + event.message);
    this.#absorb(group, combined);
    return combined;
  }

  /**
   * Adds the series that are not written yet to the combined series. A burst of events therefore causes one write
   * instead of ten.
   */
  #absorb(group: Group, combined: Series): void {
    for (const series of group.byMessage.values()) {
      if (series.written !== undefined || !series.dirty) continue;
      combined.count += series.count;
      series.dirty = false;
      series.count = 0;
    }
  }
}
