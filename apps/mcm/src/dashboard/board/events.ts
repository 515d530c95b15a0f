import type { EventRow } from '@mcm/dashboard';
import type { EventObject } from '@mcm/kube';
import { eventRow } from '../rows/other-rows.ts';
import { Table } from './table.ts';

const MOST_EVENTS = 1_000;

export class Events {
  readonly table = new Table<EventRow>();

  add(event: EventObject, now: number): boolean {
    const row = eventRow(event, now);
    if (row === undefined || !this.table.put(row)) return false;
    const { rows } = this.table;
    if (rows.size < MOST_EVENTS * 1.2) return true;
    // Sorting should be rare, so old events are removed only when the number of events is twice the limit.
    const oldest = [...rows.values()].toSorted((a, b) => a.at - b.at).slice(0, rows.size - MOST_EVENTS);
    for (const { key } of oldest) this.table.drop(key);
    return true;
  }

  of(wanted: (kind: string, ns: string, name: string) => boolean): readonly EventRow[] {
    return [...this.table.rows.values()]
      .filter(({ kind, ns, name }) => wanted(kind, ns, name))
      .toSorted((a, b) => b.at - a.at);
  }
}
