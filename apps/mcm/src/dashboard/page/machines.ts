import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { machineWait, waitText } from '../../explain/machine/machine-wait.ts';
import { unseen } from '../gaps.ts';
import type { Snapshot } from '../snapshot.ts';
import { type Html, html } from './html.ts';
import { firstOf, phaseOf } from './machine-order.ts';
import type { Fleet } from './overview.ts';
import type { Section } from './page.ts';
import { age, ageInWords, badge, moodOf } from './words.ts';

/** The maximum number of rows. The filter finds the others. */
const MOST_ROWS = 200;

const nodeNameOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

const matches = (machine: Machine, words: readonly string[]): boolean => {
  const text = [machine.metadata.name, phaseOf(machine), nodeNameOf(machine), machine.spec.class.name ?? '']
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
};

/** Machines with their nodes and their current waits. */
export function machinesSection(snapshot: Snapshot, fleet: Fleet, filter: string, now: Date): Section {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const { machines, order } = snapshot;
  const found = words.length === 0 ? machines : machines.filter((machine) => matches(machine, words));
  const shown = found === machines ? order.first(MOST_ROWS) : firstOf(found, MOST_ROWS);
  const counted =
    found.length > shown.length
      ? `The first ${shown.length} of ${found.length}; use the filter to find others.`
      : `${found.length} of ${machines.length} shown.`;
  const body = html`<h2 id="machines-heading">Machines</h2>
<form method="get" action="/" role="search"><label for="q">Name, phase, node or class</label> <input id="q" name="q" type="search" value="${filter}" autocomplete="off" spellcheck="false"> <button type="submit">Filter</button></form>
<p>${unseen(snapshot.gaps, 'machines') ?? counted}</p>
${shown.length === 0 ? undefined : table(shown.map((machine) => row(machine, snapshot.nodeOf, fleet, now)))}`;
  return { id: 'machines', body };
}

const table = (
  rows: readonly Html[],
): Html => html`<div class="wide" role="group" aria-labelledby="machines-heading" tabindex="0"><table aria-labelledby="machines-heading">
<thead><tr><th scope="col">Name</th><th scope="col">Phase</th><th scope="col">Node</th><th scope="col">Class</th><th scope="col" class="number">Age</th><th scope="col">Waits for</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;

/** The last drawn row of each machine, with a key of its other inputs. */
const drawn = new WeakMap<Machine, { readonly from: string; readonly row: Html }>();

function row(machine: Machine, nodeOf: Snapshot['nodeOf'], { source, settings }: Fleet, now: Date): Html {
  const { metadata, spec } = machine;
  const wait = machineWait(machine, source.machineClass(spec.class.name ?? ''), settings().ofMachines.defaults);
  const since = metadata.creationTimestamp;
  const [node, waits] = [nodeWords(nodeNameOf(machine), nodeOf), wait ? waitText(wait, now) : 'nothing'];
  const from = JSON.stringify([node, waits, ageInWords(since, now)]);
  const before = drawn.get(machine);
  if (before?.from === from) return before.row;
  const phase = phaseOf(machine);
  const anew = html`<tr data-key="${metadata.uid}"><th scope="row"><a href="/machines/${encodeURIComponent(metadata.name)}">${metadata.name}</a></th>
<td>${badge(moodOf(phase), phase)}</td><td>${node}</td><td>${spec.class.name ?? ''}</td><td class="number">${age(since, now)}</td><td>${waits}</td></tr>
`;
  drawn.set(machine, { from, row: anew });
  return anew;
}

function nodeWords(name: string, nodeOf: Snapshot['nodeOf']): string {
  if (name === '') return 'none yet';
  if (nodeOf === undefined) return name;
  const node = nodeOf(name);
  return `${name}, ${node ? nodeState(node) : 'not there'}`;
}

function nodeState({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return `${ready ? 'Ready' : 'not Ready'}${spec.unschedulable === true ? ', cordoned' : ''}`;
}

/** A short form for the top of the page: `3 Running, 1 Failed`. */
export function machinesInWords({ order }: Snapshot): string {
  const parts = [...order.phases].map(([phase, all]) => `${all} ${phase}`).sort();
  return parts.length === 0 ? 'no machines' : parts.join(', ');
}
