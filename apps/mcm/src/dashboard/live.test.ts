import type { ServerResponse } from 'node:http';
import { VirtualClock } from '@mcm/kube';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedLines, streamPage } from './live.ts';
import { html } from './page/html.ts';

/** The lines after the script of the page has applied a change. */
const laid = (before: readonly string[], told: ReturnType<typeof changedLines>): string[] =>
  told.flatMap((part) => (typeof part === 'string' ? [part] : before.slice(part[0], part[0] + part[1])));

test('a browser that applies the changes has the drawn lines', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', '', 'e'));
  fc.assert(
    fc.property(lines, lines, (before, next) => {
      expect(laid(before, changedLines(before, next))).toEqual(next);
    }),
  );
});

test('a changed row is sent alone, also if it moves', () => {
  const before = Array.from({ length: 200 }, (_, index) => `row ${index}`);
  expect(changedLines(before, before.with(7, 'row 7, changed'))).toEqual([[0, 7], 'row 7, changed', [8, 192]]);
  expect(changedLines(before, ['row 9, changed', ...before.toSpliced(9, 1)])).toEqual([
    'row 9, changed',
    [0, 9],
    [10, 190],
  ]);
});

test('the removal of the last row is sent, and an unchanged page is not', async () => {
  const [clock, stop, written] = [new VirtualClock(), new AbortController(), [] as string[]];
  const response = { write: (text: string) => written.push(text) > 0 } as unknown as ServerResponse;
  let [last, changed]: [string, () => void] = ['\nb', () => undefined];
  const page = { title: 'page', draw: () => [{ id: 'rows', body: html`a${last}` }] };
  const onChange = (handler: () => void) => {
    changed = handler;
    return () => undefined;
  };
  const streaming = streamPage(page, response, { clock, signal: stop.signal, onChange });
  await clock.settle();
  last = '';
  for (let times = 0; times < 2; times += 1) {
    changed();
    await clock.advance(5_000);
  }
  stop.abort();
  await streaming;
  expect(written.filter((text) => text.startsWith('event: section')).map((text) => text.split('"lines":')[1])).toEqual([
    '["a","b"]}\n\n',
    '[[0,1]]}\n\n',
  ]);
});
