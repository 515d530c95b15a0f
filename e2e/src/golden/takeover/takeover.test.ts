import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sampled } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { findSets } from '../sets.ts';
import { EVENT_RULES } from './comparison/event-counts.ts';
import { openEndRules } from './comparison/open-end-rules.ts';
import { RULES } from './comparison/rules.ts';
import { widened } from './comparison/vary.ts';
import { parseHistory, readHistories } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { type Checked, type Reason, takeOver } from './take-over.ts';

const FLOOR = { takeOver: 173, sameContract: 32 };

const histories = await readHistories(fileURLToPath(new URL('../../../testdata/takeover', import.meta.url)));
const reasons: readonly Reason[] = [...RULES, ...openEndRules([]), ...EVENT_RULES];
const states = histories.reduce((sum, { states: all }) => sum + all.length, 0);
const textOf = ({ row, what }: Reason): string => `${row}: ${what}`;

/** For each rule, the number of checks that need the rule. `unseen` counts the steps without a recorded state. */
const EXCUSED = {
  replays: {
    checks: 31,
    rules: [1, 1, 27, 3, 3, 31, 29, 1, 1, 3, 1, 2, 4, 9, 4, 16, 1, 1, 1, 1, 1, 6, 1],
    unseen: 156,
  },
  takeOvers: {
    checks: 173,
    rules: [8, 0, 124, 0, 42, 65, 91, 0, 0, 11, 1, 7, 0, 0, 0, 3, 0, 29, 29, 29, 29, 0, 0],
    unseen: 0,
  },
};

const excusedBy = (checks: readonly Checked[]) => ({
  checks: checks.length,
  rules: reasons.map(
    (reason) => checks.filter(({ used }) => [...used].some((one) => textOf(one) === textOf(reason))).length,
  ),
  unseen: checks.reduce((sum, { unseen = 0 }) => sum + unseen, 0),
});

const taken: Checked[] = [];
const played: Checked[] = [];
const replayed: Checked[] = [];

describe.each(histories)('$file', (history) => {
  test.each(sampled([...history.states.keys()], 16, 6))(
    'state %i is taken over, and the end equals that of the original',
    async (index) => {
      const outcome = await takeOver(history, index);
      taken.push(outcome);
      expect(outcome.failure, outcome.name).toBeUndefined();
    },
  );

  test('a replay from the start leads to the same contract', async () => {
    const outcomes: Checked[] = [];
    for await (const outcome of sameContract(history)) outcomes.push(outcome);
    replayed.push(...outcomes);
    played.push(...outcomes);
    expect(outcomes.filter(({ failure }) => failure !== undefined)).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(0);
  });
});

test('never-joins.json with twice as many machines: they are replaced one after the other, and lead to the same contract', async () => {
  const text = await readFile(new URL('../../../testdata/takeover/never-joins.json', import.meta.url), 'utf8');
  for await (const outcome of sameContract(parseHistory('never-joins.json', widened(text)))) {
    played.push(outcome);
    expect(outcome.failure, outcome.name).toBeUndefined();
  }
});

describe('the recordings together', () => {
  const isWhole = (): boolean => taken.length >= states;

  test('the recordings of a takeover contain all known checks', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    expect(taken.length).toBeGreaterThanOrEqual(FLOOR.takeOver);
    expect(played.length).toBeGreaterThanOrEqual(FLOOR.sameContract);
  });

  test('the rules excuse exactly these parts of the replays', (context) => {
    if (new Set(replayed.map(({ name }) => name.split(' ')[2])).size < histories.length)
      context.skip('only some of the recordings were run');
    expect(excusedBy(replayed)).toEqual(EXCUSED.replays);
  });

  test('the rules excuse exactly these parts of the take-overs', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    expect(excusedBy(taken)).toEqual(EXCUSED.takeOvers);
  });

  test('the recordings of a takeover need every rule', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    const needed = new Set([...taken, ...played].flatMap(({ used }) => [...used].map(textOf)));
    expect(reasons.map(textOf).filter((text) => !needed.has(text))).toEqual([]);
  });
});

test('a rollout that the original started continues without a replacement', async () => {
  const roll = histories.find(({ file }) => file === 'roll.json');
  const middle = roll?.states.findIndex(({ objects }) => {
    const all = [...objects.values()].filter(({ kind }) => kind === 'Machine');
    return new Set(all.map(({ metadata }) => metadata.labels?.['machine-template-hash'])).size > 1;
  });
  if (!roll || middle === undefined || middle < 0) throw new Error('no state of roll.json has machines of two sets');
  expect((await takeOver(roll, middle)).failure).toBeUndefined();
});

test('an unknown set is refused with the names of the known sets', () => {
  expect(() => findSets(['nonsense'])).toThrow('unknown set "nonsense"; known: takeover');
});

test.each([...new Set(reasons.map(({ row }) => row))])(
  'the rule "%s" has a row in the table of differences',
  async (row) => {
    const docs = await readFile(new URL('../../../../docs/compatibility/differences.md', import.meta.url), 'utf8');
    expect(docs.split('\n').map((line) => line.split('|')[1]?.trim())).toContain(row);
  },
);
