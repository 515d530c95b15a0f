import type { EventObject } from '../types/core.ts';

/** One event as it was recorded. */
export interface Recorded {
  readonly involved: EventObject['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly at: Date;
  readonly once: boolean;
}

/** Like events of one object that share one Event on the server. */
export interface Series {
  readonly involved: EventObject['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  message: string;
  /** The name of its Event follows from what it says, and it is not counted up. */
  readonly once: boolean;
  count: number;
  readonly first: Date;
  last: Date;
  /** What makes the name of its Event unique; the same for each try, so that one without an answer makes no second. */
  id: string | undefined;
  /** Name of the Event on the server, once it was created. */
  written: string | undefined;
  dirty: boolean;
  attempts: number;
}

/** All series of one object, type and reason. */
interface Group {
  last: Date;
  readonly byMessage: Map<string, Series>;
  combined: Series | undefined;
}

/** From so many different messages of one object and reason on, they are combined. As client-go. */
export const MAX_SIMILAR = 10;
/** A reason that was silent for so long starts again. As client-go. */
export const SIMILAR_WINDOW_MS = 10 * 60_000;
/** Groups kept in memory; the one that was silent longest goes first. As client-go. */
const MAX_GROUPS = 4096;
const COMBINED_PREFIX = '(combined from similar events): ';
/** The limit of `note` in events.k8s.io/v1, which is the same object. */
export const MAX_MESSAGE_LENGTH = 1024;

export const capped = (message: string): string =>
  message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 3)}...`;

const startSeries = (event: Recorded, message: string): Series => ({
  involved: event.involved,
  type: event.type,
  reason: event.reason,
  message,
  once: event.once,
  count: 0,
  first: event.at,
  last: event.at,
  id: undefined,
  written: undefined,
  dirty: false,
  attempts: 0,
});

/** Joins like events, so that a storm becomes a few series. Knows nothing of writing. */
export class EventGroups {
  readonly #groups = new Map<string, Group>();

  /** The series that the event belongs to, with the event counted in. */
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
    this.#groups.delete(key); // Insertion order is order of use.
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

  /** Series that nobody has seen on the server yet go into the combined one: a burst costs one write, not ten. */
  #absorb(group: Group, combined: Series): void {
    for (const series of group.byMessage.values()) {
      if (series.written !== undefined || !series.dirty) continue;
      combined.count += series.count;
      series.dirty = false;
      series.count = 0;
    }
  }
}
