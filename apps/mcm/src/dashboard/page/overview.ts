import type { EventObject } from '@mcm/kube';
import { brief } from '../../explain/brief.ts';
import { drainLines } from '../../explain/drain-lines.ts';
import { toldOnce } from '../../explain/machine/machine-lines.ts';
import { machineWait, waitText } from '../../explain/machine/machine-wait.ts';
import type { Drains } from '../drains.ts';
import { gapNotes, gapsInWords, unseen } from '../gaps.ts';
import type { Settings } from '../settings.ts';
import type { FleetSource, Snapshot } from '../snapshot.ts';
import { deploymentsInWords, deploymentsSection } from './deployments.ts';
import { html } from './html.ts';
import { machinesInWords, machinesSection } from './machines.ts';
import type { Page, Section } from './page.ts';
import { age, count } from './words.ts';

/** The inputs of the pages. */
export interface Fleet {
  readonly namespace: string;
  readonly source: FleetSource;
  readonly drains: Drains;
  /** The settings of the leaders, as far as they are known. */
  readonly settings: () => Settings;
}

/** The first page: all objects of the namespace, and the machines that match a filter. */
export const overview = (fleet: Fleet, filter: string): Page => ({
  title: `mcm dashboard: ${fleet.namespace}`,
  draw(now) {
    const snapshot = fleet.source.snapshot();
    return [
      summary(fleet, snapshot),
      deploymentsSection(snapshot, fleet, now),
      drainsSection(fleet, now),
      machinesSection(snapshot, fleet, filter, now),
      eventsSection(snapshot, now),
    ];
  },
});

/** A screen reader announces only this section. It is short, and changes only when the fleet changes. */
function summary({ namespace, drains, settings }: Fleet, snapshot: Snapshot): Section {
  const { gaps } = snapshot;
  const { manager, ofMachines } = settings();
  const flags = [manager.remark, ofMachines.remark].filter((remark) => remark !== undefined);
  const { machines, more } = drains.watched();
  const words = [
    // Kinds that could not be read are omitted, because "none" would be wrong.
    ...(unseen(gaps, 'machinedeployments') ? [] : [deploymentsInWords(snapshot)]),
    ...(unseen(gaps, 'machines') ? [] : [machinesInWords(snapshot), count(machines.length + more, 'drain')]),
    ...gapsInWords(gaps),
  ];
  const body = html`<h1 id="summary-heading">Machines of namespace ${namespace}</h1>
<p aria-live="polite">${words.join('; ')}.</p>
${gapNotes(gaps)}${flags.map((remark) => html`<p class="quiet">Flags: ${remark}.</p>\n`)}`;
  return { id: 'summary', body };
}

function drainsSection({ source, drains, settings }: Fleet, now: Date): Section {
  const { defaults } = settings().ofMachines;
  const { machines, more } = drains.watched();
  const body = html`<h2 id="drains-heading">Drains</h2>
${machines.length === 0 ? html`<p>No machine with a node is being deleted.</p>` : undefined}
${machines.map((machine) => {
  const { name, uid } = machine.metadata;
  const wait = machineWait(machine, source.machineClass(machine.spec.class.name ?? ''), defaults);
  const drain = drains.explain(machine);
  return html`<article data-key="${uid}"><h3><a href="/machines/${encodeURIComponent(name)}">${name}</a></h3>
<p>${wait ? waitText(toldOnce(wait, drain), now) : undefined}</p>
${drain ? html`<pre>${drainLines(drain, now).join('\n')}</pre>` : html`<p>Its pods are not known: ${unknownBecause(drains.unseen(machine))}.</p>`}</article>`;
})}
${more > 0 ? html`<p>And ${count(more, 'more drain')}: open the page of a machine for details.</p>` : undefined}`;
  return { id: 'drains', body };
}

const unknownBecause = (unseen: readonly string[]): string =>
  unseen.length === 0 ? 'its node is gone, or has not been read yet' : unseen.join('; ');

/** The maximum number of events in the list. */
const EVENTS_SHOWN = 30;

/** The newest events, newest first. Reads each event once. */
function newest(events: readonly EventObject[], most: number): readonly EventObject[] {
  const latest: EventObject[] = [];
  for (const event of events) {
    const at = latest.findLastIndex((other) => timeOf(other) >= timeOf(event)) + 1;
    if (at >= most) continue;
    latest.splice(at, 0, event);
    if (latest.length > most) latest.pop();
  }
  return latest;
}

const timeOf = (event: EventObject): string => event.lastTimestamp ?? event.metadata.creationTimestamp;

function eventsSection({ events, gaps }: Snapshot, now: Date): Section {
  const latest = newest(events, EVENTS_SHOWN);
  const rows = latest.map(
    (
      event,
    ) => html`<tr data-key="${event.metadata.uid}"><td class="number">${age(timeOf(event), now)}</td><td>${event.type ?? ''}</td><td>${event.reason ?? ''}</td><td>${`${event.involvedObject.kind ?? ''}/${event.involvedObject.name ?? ''}`}</td><td>${brief(event.message ?? '')}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ''}</td></tr>
`,
  );
  const body = html`<h2 id="events-heading">Events</h2>
${
  rows.length === 0
    ? html`<p>${unseen(gaps, 'events') ?? 'There are none.'}</p>`
    : html`<div class="wide" role="group" aria-labelledby="events-heading" tabindex="0"><table aria-labelledby="events-heading">
<thead><tr><th scope="col" class="number">Age</th><th scope="col">Type</th><th scope="col">Reason</th><th scope="col">Object</th><th scope="col">Message</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}`;
  return { id: 'events', body };
}
