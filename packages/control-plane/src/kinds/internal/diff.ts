import { stringifyJson } from '../../apimachinery/objects/json.ts';
import type { Plain } from '../../apimachinery/objects/plain.ts';
import { internalForm } from './form.ts';

interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

const CONTEXT = 3;
const MANY_LINES = 200;

/** Returns the positions of each line. */
function placesOf(b: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [index, line] of b.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [index]);
    else known.push(index);
  }
  if (b.length < MANY_LINES) return places;
  const often = Math.floor(b.length / 100) + 1;
  for (const [line, indices] of places) if (indices.length > often) places.delete(line);
  return places;
}

type Range = readonly [aLow: number, aHigh: number, bLow: number, bHigh: number];

/** Returns the longest run of equal lines. */
function longest(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  [aLow, aHigh, bLow, bHigh]: Range,
): Match {
  let best: Match = { a: aLow, b: bLow, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = aLow; i < aHigh; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i] ?? '') ?? []) {
      if (j < bLow) continue;
      if (j >= bHigh) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  let { a: i, b: j, size } = best;
  while (i > aLow && j > bLow && a[i - 1] === b[j - 1]) {
    i--;
    j--;
    size++;
  }
  while (i + size < aHigh && j + size < bHigh && a[i + size] === b[j + size]) size++;
  return { a: i, b: j, size };
}

/** Returns all runs of equal lines in the order of the text (algorithm of Ratcliff and Obershelp). */
function matches(a: readonly string[], b: readonly string[]): Match[] {
  const places = placesOf(b);
  const found: Match[] = [];
  const search = (range: Range): void => {
    const [aLow, aHigh, bLow, bHigh] = range;
    const match = longest(a, b, places, range);
    if (match.size === 0) return;
    if (aLow < match.a && bLow < match.b) search([aLow, match.a, bLow, match.b]);
    found.push(match);
    const [aNext, bNext] = [match.a + match.size, match.b + match.size];
    if (aNext < aHigh && bNext < bHigh) search([aNext, aHigh, bNext, bHigh]);
  };
  search([0, a.length, 0, b.length]);
  return [...found, { a: a.length, b: b.length, size: 0 }];
}

const span = (start: number, count: number): string => {
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
};

interface Change {
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
}

function changesOf(a: readonly string[], b: readonly string[]): Change[] {
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  for (const match of matches(a, b)) {
    if (i < match.a || j < match.b) changes.push({ a: [i, match.a], b: [j, match.b] });
    i = match.a + match.size;
    j = match.b + match.size;
  }
  return changes;
}

/** Returns a unified diff of two texts, with three lines of context. */
export function unifiedDiff(before: string, after: string): string {
  const a = before.split('\n');
  const b = after.split('\n');
  const groups: Change[][] = [];
  for (const change of changesOf(a, b)) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && change.a[0] - last.a[1] <= 2 * CONTEXT) groups.at(-1)?.push(change);
    else groups.push([change]);
  }
  return groups.map((group) => hunk(a, b, group)).join('');
}

function hunk(a: readonly string[], b: readonly string[], group: readonly Change[]): string {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) return '';
  const lead = Math.min(CONTEXT, first.a[0]);
  const tail = Math.min(CONTEXT, a.length - last.a[1]);
  const [aFrom, aTo] = [first.a[0] - lead, last.a[1] + tail];
  const [bFrom, bTo] = [first.b[0] - lead, last.b[1] + tail];
  const lines: string[] = [];
  let at = aFrom;
  for (const change of group) {
    lines.push(...a.slice(at, change.a[0]).map((line) => ` ${line}`));
    lines.push(...a.slice(...change.a).map((line) => `-${line}`));
    lines.push(...b.slice(...change.b).map((line) => `+${line}`));
    at = change.a[1];
  }
  lines.push(...a.slice(at, aTo).map((line) => ` ${line}`));
  return `@@ -${span(aFrom, aTo - aFrom)} +${span(bFrom, bTo - bFrom)} @@\n${lines.join('\n')}\n`;
}

/** Returns the diff of two internal structures of kube-apiserver, for errors about immutable fields. */
export function internalDiff(structure: string, before: Plain, after: Plain): string {
  const shown = (value: Plain): string => stringifyJson(internalForm(structure, value), 1);
  return unifiedDiff(shown(before), shown(after));
}
