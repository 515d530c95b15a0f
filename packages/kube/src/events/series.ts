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

/** Equal events of one object, which share one Event on the server. */
export interface Series {
  readonly involved: EventObject['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  message: string;
  /**
   * Whether the name of the Event is derived from its content. An Event whose name is derived from its content is not
   * counted.
   */
  readonly once: boolean;
  readonly annotations: Record<string, string> | undefined;
  count: number;
  readonly first: Date;
  last: Date;
  /**
   * The unique part of the name of the Event. Each attempt to write the Event uses one name, so that a lost response
   * does not cause a second Event.
   */
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

/** The number of different messages for one object and reason from which events are combined, as in client-go. */
const MAX_SIMILAR = 10;
/** The time without events of a reason after which the count starts again, as in client-go. */
const SIMILAR_WINDOW_MS = 10 * 60_000;
/** The maximum number of groups. As in client-go, a new group then replaces the least recently used group. */
const MAX_GROUPS = 4096;
const COMBINED_PREFIX = '(combined from similar events): ';
/**
 * The API server stores the Events of both API groups in one form, so the limit of `note` in events.k8s.io/v1 applies.
 */
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

/** Equal events become one series, and nothing is written to the server. */
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
   * Series without a written Event become a part of the combined series, so a burst causes one write instead of ten.
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
