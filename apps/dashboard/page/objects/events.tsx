import { useState } from 'preact/hooks';
import type { EventRow } from '../../src/wire.ts';
import { query } from '../filters.ts';
import { duration, machineHref, rolloutHref, yamlHref } from '../format.ts';
import { Card, Name, Words } from '../parts/marks.tsx';
import { events, inNamespace, now } from '../store.ts';

const KINDS: Readonly<Record<string, string>> = {
  MachineSet: 'machineset',
  MachineClass: 'machineclass',
  Node: 'node',
  MachineConfigPool: 'machineconfigpool',
};

/** Returns the address of the page for the object of an event. */
function hrefOf({ kind, ns, name }: EventRow): string | undefined {
  if (kind === 'Machine') return machineHref(`${ns}/${name}`);
  if (kind === 'MachineDeployment') return rolloutHref(`${ns}/${name}`);
  const known = KINDS[kind];
  const clusterWide = kind === 'Node' || kind === 'MachineConfigPool';
  return known === undefined ? undefined : yamlHref(known, clusterWide ? '' : ns, name);
}

export function EventTable({ rows, short = false }: { rows: readonly EventRow[]; short?: boolean }) {
  if (rows.length === 0) return <p class="empty">There are no events.</p>;
  return (
    <ul class="events">
      {rows.map((row) => {
        const { key, at, warning, reason, kind, name, message, count } = row;
        const href = hrefOf(row);
        return (
          <li key={key} class={warning ? 'warning' : ''}>
            <span class="number quiet">{duration(now.value - at)}</span>
            <span class="event-reason">
              {warning && <span class="hidden">Warning: </span>}
              {reason}
              {count > 1 && <span class="quiet"> ×{count}</span>}
            </span>
            {!short && (
              <span class="event-object">
                <span class="quiet">{kind} </span>
                {href === undefined ? (
                  <Name>{name}</Name>
                ) : (
                  <a href={href}>
                    <Name>{name}</Name>
                  </a>
                )}
              </span>
            )}
            <span class="event-text">
              <Words>{message}</Words>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** The number of bars in the histogram. */
const BUCKETS = 60;
const HOUR_MS = 3_600_000;

/** The number of events in each minute of the last hour. */
function Histogram({ rows }: { rows: readonly EventRow[] }) {
  const end = now.value;
  const all = Array.from({ length: BUCKETS }, () => ({ normal: 0, warning: 0 }));
  for (const { at, warning } of rows) {
    const bucket = all[BUCKETS - 1 - Math.floor((end - at) / (HOUR_MS / BUCKETS))];
    if (bucket === undefined) continue;
    if (warning) bucket.warning += 1;
    else bucket.normal += 1;
  }
  const most = Math.max(1, ...all.map(({ normal, warning }) => normal + warning));
  const warnings = all.reduce((sum, { warning }) => sum + warning, 0);
  return (
    <figure class="histogram-box">
      <div class="histogram" role="img" aria-label={`Events in each minute of the last hour; ${warnings} warnings`}>
        {all.map(({ normal, warning }, index) => (
          <span key={index} class="bucket">
            <span class="starting" style={{ height: `${(normal / most) * 100}%` }} />
            <span class="blocked" style={{ height: `${(warning / most) * 100}%` }} />
          </span>
        ))}
      </div>
      <div class="axis" aria-hidden="true">
        <span>1 h ago</span>
        <span>30 min ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

const FIRST = 200;

export function EventsPage() {
  const [most, setMost] = useState(FIRST);
  const [onlyWarnings, setOnlyWarnings] = useState(false);
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = inNamespace(events.value)
    .filter(({ warning }) => warning || !onlyWarnings)
    .filter(({ name, reason, message, kind }) => {
      const text = `${name} ${reason} ${message} ${kind}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .toSorted((a, b) => b.at - a.at);
  return (
    <>
      <h1>Events</h1>
      <Card id="hour" title="Last hour">
        <Histogram rows={rows} />
      </Card>
      <Card
        id="events"
        title="Events"
        aside={
          <>
            <span class="quiet">{rows.length}</span>
            <span class="grow" />
            <label class="choice">
              <input
                type="checkbox"
                checked={onlyWarnings}
                onChange={({ currentTarget }) => setOnlyWarnings(currentTarget.checked)}
              />
              <span>Only warnings</span>
            </label>
          </>
        }
      >
        <EventTable rows={rows.slice(0, most)} />
        {rows.length > most && (
          <button type="button" onClick={() => setMost(most + FIRST)}>
            Show more
          </button>
        )}
      </Card>
    </>
  );
}
