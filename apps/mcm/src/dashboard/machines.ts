import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { machineWait, waitText } from '../explain/machine-wait.ts';
import { phaseName } from '../screen/fleet.ts';
import { unseen } from './gaps.ts';
import { type Html, html } from './html.ts';
import type { Fleet } from './overview.ts';
import type { Section } from './page.ts';
import type { Snapshot } from './snapshot.ts';
import { age, badge, moodOf } from './words.ts';

/** Rows on one page: more are found by the filter. */
const MOST_ROWS = 200;

/** Its phase as people call it; one that is being deleted is Terminating whatever its status says yet. */
export const phaseOf = ({ metadata, status }: Machine): string =>
  metadata.deletionTimestamp === undefined ? phaseName(status?.currentStatus?.phase ?? '') : 'Terminating';

const nodeNameOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

/** The ones that want something stand first. */
const ORDER: readonly string[] = ['bad', 'busy', 'idle', 'good'];
const needOf = (machine: Machine): number => ORDER.indexOf(moodOf(phaseOf(machine)));

/** Names are ASCII: to compare them by a language's rules costs a hundred times as much. */
const byName = (a: Machine, b: Machine): number => (a.metadata.name < b.metadata.name ? -1 : 1);

/** The first rows of all: whole groups are sorted only as far as they are shown. */
function firstOf(found: readonly Machine[], most: number): readonly Machine[] {
  const groups = Map.groupBy(found, needOf);
  const shown: Machine[] = [];
  for (const need of ORDER.keys()) {
    if (shown.length >= most) break;
    shown.push(...(groups.get(need) ?? []).sort(byName));
  }
  return shown.slice(0, most);
}

const matches = (machine: Machine, words: readonly string[]): boolean => {
  if (words.length === 0) return true;
  const text = [machine.metadata.name, phaseOf(machine), nodeNameOf(machine), machine.spec.class.name ?? '']
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
};

/** Machines with their nodes and what each waits for. */
export function machinesSection(snapshot: Snapshot, fleet: Fleet, filter: string, now: Date): Section {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = snapshot.machines.filter((machine) => matches(machine, words));
  const shown = firstOf(found, MOST_ROWS);
  const counted =
    found.length > shown.length
      ? `The first ${shown.length} of ${found.length}; name fewer with the filter.`
      : `${found.length} of ${snapshot.machines.length} shown.`;
  const body = html`<h2 id="machines-heading">Machines</h2>
<form method="get" action="/" role="search"><label for="q">Name, phase, node or class</label> <input id="q" name="q" type="search" value="${filter}" autocomplete="off" spellcheck="false"> <button type="submit">Filter</button></form>
<p>${unseen(snapshot.gaps, 'machines') ?? counted}</p>
${shown.length === 0 ? undefined : table(shown.map((machine) => row(machine, snapshot.nodes, fleet, now)))}`;
  return { id: 'machines', body };
}

const table = (
  rows: readonly Html[],
): Html => html`<div class="wide" role="group" aria-labelledby="machines-heading" tabindex="0"><table aria-labelledby="machines-heading">
<thead><tr><th scope="col">Name</th><th scope="col">Phase</th><th scope="col">Node</th><th scope="col">Class</th><th scope="col" class="number">Age</th><th scope="col">Waits for</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;

function row(machine: Machine, nodes: Snapshot['nodes'], { source, settings }: Fleet, now: Date): Html {
  const { metadata, spec } = machine;
  const phase = phaseOf(machine);
  const wait = machineWait(machine, source.machineClass(spec.class.name ?? ''), settings().ofMachines.defaults);
  return html`<tr data-key="${metadata.uid}"><th scope="row"><a href="/machines/${encodeURIComponent(metadata.name)}">${metadata.name}</a></th>
<td>${badge(moodOf(phase), phase)}</td><td>${nodeWords(nodeNameOf(machine), nodes)}</td><td>${spec.class.name ?? ''}</td><td class="number">${age(metadata.creationTimestamp, now)}</td><td>${wait ? waitText(wait, now) : 'nothing'}</td></tr>
`;
}

function nodeWords(name: string, nodes: Snapshot['nodes']): string {
  if (name === '') return 'none yet';
  if (nodes === undefined) return name;
  const node = nodes.get(name);
  return `${name}, ${node ? nodeState(node) : 'not there'}`;
}

function nodeState({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return `${ready ? 'Ready' : 'not Ready'}${spec.unschedulable === true ? ', cordoned' : ''}`;
}

/** In a few words, for the top of the page: `3 Running, 1 Failed`. */
export function machinesInWords({ machines }: Snapshot): string {
  const phases = Map.groupBy(machines, phaseOf);
  const parts = [...phases].map(([phase, all]) => `${all.length} ${phase}`).sort();
  return parts.length === 0 ? 'no machines' : parts.join(', ');
}
