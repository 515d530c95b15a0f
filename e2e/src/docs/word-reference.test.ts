import { EVENTS, EventReasons } from '@mcm/api';
import { CONFIG_EVENTS, DAEMON_EVENTS } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { sourcesUnder } from './sources.ts';
import { wordReferenceFiles } from './word-reference.ts';

/** Searches the source code for event reasons that are next to an event type, and returns each reason with its type. */
function written(...folders: readonly string[]): [reason: string, type: string][] {
  const names: Readonly<Record<string, string>> = EventReasons;
  const found = sourcesUnder(...folders).flatMap(({ text }) => [
    ...text.matchAll(/type: '(Normal|Warning)'(?: as const)?,\s+reason: (?:\w+\.|')(\w+)/g),
    ...text.matchAll(/event\(\s*[\w.]+,\s*'(Normal|Warning)',\s*(?:\w+\.|')(\w+)/g),
  ]);
  return found.map(([, type = '', word = '']) => [names[word] ?? word, type]);
}

test.each([
  ['packages/core/src', EVENTS, 35],
  ['packages/machine-config/src', { ...CONFIG_EVENTS, ...DAEMON_EVENTS }, 10],
])('events of %s have the type in their table', (folder, events, least) => {
  const types = Object.fromEntries(Object.entries(events).map(([reason, { type }]) => [reason, type]));
  const pairs = written(folder).filter(([reason]) => reason in types);
  expect(pairs.length).toBeGreaterThan(least);
  expect(pairs.filter(([reason, type]) => types[reason] !== type)).toEqual([]);
});

test.each([
  ['docs/reference/events.md', '`OrphanVM`', 'Runbook [McmOrphans](../runbooks/McmOrphans.md)'],
  ['docs/reference/conditions.md', '`ProgressDeadlineExceeded`', '| False'],
  ['docs/reference/conditions.md', '`Initiate VM deletion`', 'requests the deletion of the VM'],
  ['docs/reference/errors.md', '`ResourceExhausted` | 8', 'capacity or quota'],
  ['docs/reference/errors.md', '`ResourceExhausted` | 10m |', '| 5s … 1m | 3m | 10m |'],
])('%s tells %s with %s', (page, what, reported) => {
  const text = wordReferenceFiles().get(page)?.replaceAll(/ {2,}/g, ' ') ?? '';
  expect(text.split('\n').find((line) => line.includes(what))).toContain(reported);
});
