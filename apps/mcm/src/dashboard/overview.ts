import type { EventObject } from '@mcm/kube';
import { drainLines } from '../explain/drain-lines.ts';
import { machineWait, waitText } from '../explain/machine-wait.ts';
import { deploymentsInWords, deploymentsSection } from './deployments.ts';
import type { Drains } from './drains.ts';
import { html } from './html.ts';
import { machinesInWords, machinesSection } from './machines.ts';
import type { Page, Section } from './page.ts';
import type { FleetSource, Snapshot } from './snapshot.ts';
import { age, count } from './words.ts';

/** What the pages are drawn from. */
export interface Fleet {
  readonly namespace: string;
  readonly source: FleetSource;
  readonly drains: Drains;
}

/** The first page: everything of the namespace, with machines of a filter. */
export const overview = ({ namespace, source, drains }: Fleet, filter: string): Page => ({
  title: `mcm dashboard: ${namespace}`,
  draw(now) {
    const snapshot = source.snapshot();
    return [
      summary(namespace, snapshot, drains),
      deploymentsSection(snapshot, source, now),
      drainsSection(source, drains, now),
      machinesSection(snapshot, source, filter, now),
      eventsSection(snapshot.events, now),
    ];
  },
});

/** The only part that is read out when it changes: it is short, and changes when something has happened. */
function summary(namespace: string, snapshot: Snapshot, drains: Drains): Section {
  const { machines, more } = drains.watched();
  const words = [
    deploymentsInWords(snapshot),
    machinesInWords(snapshot),
    count(machines.length + more, 'drain'),
    ...(snapshot.missing.length > 0 ? [`not read yet: ${snapshot.missing.join(', ')}`] : []),
  ];
  const body = html`<h1 id="summary-heading">Machines of namespace ${namespace}</h1>
<p aria-live="polite">${words.join('; ')}.</p>`;
  return { id: 'summary', body };
}

function drainsSection(source: FleetSource, drains: Drains, now: Date): Section {
  const { machines, more } = drains.watched();
  const body = html`<h2 id="drains-heading">Drains</h2>
${machines.length === 0 ? html`<p>No machine with a node is being deleted.</p>` : undefined}
${machines.map((machine) => {
  const { name, uid } = machine.metadata;
  const wait = machineWait(machine, source.machineClass(machine.spec.class.name ?? ''));
  const drain = drains.explain(machine);
  return html`<article data-key="${uid}"><h3><a href="/machines/${encodeURIComponent(name)}">${name}</a></h3>
<p>${wait ? waitText(wait, now) : undefined}</p>
${drain ? html`<pre>${drainLines(drain, now).join('\n')}</pre>` : html`<p>Nothing is known of its pods: its node is gone, or has not been read yet.</p>`}</article>`;
})}
${more > 0 ? html`<p>And ${count(more, 'more drain')}: open the machine to see what it waits for.</p>` : undefined}`;
  return { id: 'drains', body };
}

/** Rows of the list of events. */
const EVENTS_SHOWN = 30;

const timeOf = (event: EventObject): string => event.lastTimestamp ?? event.metadata.creationTimestamp;

function eventsSection(events: readonly EventObject[], now: Date): Section {
  const latest = [...events].sort((a, b) => timeOf(b).localeCompare(timeOf(a))).slice(0, EVENTS_SHOWN);
  const rows = latest.map(
    (
      event,
    ) => html`<tr data-key="${event.metadata.uid}"><td class="number">${age(timeOf(event), now)}</td><td>${event.type ?? ''}</td><td>${event.reason ?? ''}</td><td>${`${event.involvedObject.kind ?? ''}/${event.involvedObject.name ?? ''}`}</td><td>${event.message ?? ''}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ''}</td></tr>
`,
  );
  const body = html`<h2 id="events-heading">Events</h2>
${
  rows.length === 0
    ? html`<p>None are told.</p>`
    : html`<div class="wide" role="group" aria-labelledby="events-heading" tabindex="0"><table aria-labelledby="events-heading">
<thead><tr><th scope="col" class="number">Age</th><th scope="col">Type</th><th scope="col">Reason</th><th scope="col">Object</th><th scope="col">Message</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}`;
  return { id: 'events', body };
}
