import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { findSets } from '../sets.ts';
import { readHistories } from './recording.ts';
import { CARRIED_ON, RULES } from './rules.ts';
import { takeOver } from './take-over.ts';

const histories = await readHistories(fileURLToPath(new URL('../../../testdata/takeover', import.meta.url)));

describe.each(histories)('$file', (history) => {
  test.each([...history.states.keys()])('state %i is taken over and ends as the original did', async (index) => {
    const outcome = await takeOver(history, index);
    expect(outcome.failure, outcome.name).toBeUndefined();
  });
});

test('a roll begun by the original is carried on without one replacement', async () => {
  const roll = histories.find(({ file }) => file === 'roll.json');
  const middle = roll?.states.findIndex(({ objects }) => {
    const all = [...objects.values()].filter(({ kind }) => kind === 'Machine');
    return new Set(all.map(({ metadata }) => metadata.labels?.['machine-template-hash'])).size > 1;
  });
  if (!roll || middle === undefined || middle < 0) throw new Error('no state of roll.json has machines of two sets');
  expect((await takeOver(roll, middle)).failure).toBeUndefined();
});

test('an unknown set is refused with the known ones', () => {
  expect(() => findSets(['nonsense'])).toThrow('unknown set "nonsense"; known: takeover');
});

test.each([...new Set([...RULES, ...CARRIED_ON].map(({ row }) => row))])(
  'the rule "%s" has its row in the table of differences',
  async (row) => {
    const docs = await readFile(new URL('../../../../docs/compatibility.md', import.meta.url), 'utf8');
    expect(docs.split('\n').map((line) => line.split('|')[1]?.trim())).toContain(row);
  },
);
