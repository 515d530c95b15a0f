import type { EventObject } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { brief } from '../explain/reasons/brief.ts';
import { age } from '../output/age.ts';
import { columns } from '../output/columns.ts';
import { isInScope, type ObjectScope, type ScopedObject } from './scope.ts';

export interface EventRow {
  readonly namespace?: string;
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly object: string;
  readonly count: number;
  readonly from: string;
  readonly message: string;
}

/** The kinds whose events the live screen and the dashboard show. */
export const FLEET_KINDS: ReadonlySet<string> = new Set([
  'Machine',
  'MachineSet',
  'MachineDeployment',
  'MachineClass',
  'MachineConfigPool',
  'MachineConfig',
  'KubeletConfig',
  'Node',
]);

/** The events of Nodes include events from the kubelet. */
const KINDS = ['MachineDeployment', 'MachineSet', 'Machine', 'MachineClass', 'Node'];

const newestOf = (event: EventObject): string =>
  event.lastTimestamp ?? event.firstTimestamp ?? event.metadata.creationTimestamp;

export const objectOf = ({ involvedObject, metadata, message }: EventObject): ScopedObject => ({
  kind: involvedObject.kind,
  name: involvedObject.name,
  namespace: involvedObject.namespace ?? metadata.namespace,
  message,
});

export function eventRows(
  events: readonly EventObject[],
  scope?: ObjectScope,
  { allNamespaces = false } = {},
): EventRow[] {
  const isWanted = (event: EventObject): boolean =>
    KINDS.includes(event.involvedObject.kind ?? '') && (scope === undefined || isInScope(objectOf(event), scope));
  return events
    .filter(isWanted)
    .map(
      (event): EventRow =>
        defined({
          namespace: allNamespaces ? (objectOf(event).namespace ?? '') : undefined,
          at: newestOf(event),
          type: event.type ?? 'Normal',
          reason: event.reason ?? '',
          object: `${(event.involvedObject.kind ?? '').toLowerCase()}/${event.involvedObject.name ?? ''}`,
          count: event.count ?? 1,
          from: event.source?.component ?? event.reportingComponent ?? '',
          message: (event.message ?? '').trim(),
        }),
    )
    .sort((a, b) => a.at.localeCompare(b.at) || a.object.localeCompare(b.object));
}

const HOUR_MS = 3_600_000;

/**
 * Returns a sentence for an object that has no events. The API server deletes events after an hour. If an object
 * without events is younger than an hour, it has never had an event.
 */
function noEvents(now: Date, since: string | undefined): string {
  const ageMs = since === undefined ? HOUR_MS : now.getTime() - Date.parse(since);
  if (ageMs >= HOUR_MS) return 'no events; the API server deletes events after an hour';
  return `the object is ${age(ageMs)} old and has no events yet. To follow new events, add --watch`;
}

interface EventTable {
  readonly wide: boolean;
  readonly since?: string | undefined;
  readonly align?: typeof columns;
}

export function eventLines(
  rows: readonly EventRow[],
  now: Date,
  { wide, since, align = columns }: EventTable,
): string[] {
  if (rows.length === 0) return [noEvents(now, since)];
  const isOfAll = rows.some(({ namespace }) => namespace !== undefined);
  const head = ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', ...(wide ? ['FROM'] : []), 'MESSAGE'];
  const cells = rows.map((row) => [
    ...(isOfAll ? [row.namespace ?? ''] : []),
    `${age(now.getTime() - Date.parse(row.at))}`,
    ...[row.type, row.reason, row.object],
    ...(wide ? [row.from] : []),
    `${brief(row.message)}${row.count > 1 ? ` (×${row.count})` : ''}`,
  ]);
  return align([[...(isOfAll ? ['NAMESPACE'] : []), ...head], ...cells]);
}
