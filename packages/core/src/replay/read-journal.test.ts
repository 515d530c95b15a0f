import { seededRandom } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { createRig } from '../run/testing/start.ts';
import { BadJournal, readJournal } from './read-journal.ts';
import { replayJournal } from './replay.ts';
import { testJournal, textOf } from './testing.ts';

async function lines(): Promise<readonly string[]> {
  const journal = testJournal();
  const { rig } = await createRig({ controller: { journal } });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  return textOf(journal);
}

const HEADER = '{"journal":1,"version":"1.2.3","controller":"test","at":"2026-01-01T00:00:00.000Z"}';
const record = (input: string, more = '') =>
  `{"record":{"kind":"machine","subject":{"kind":"Machine","name":"m-1"},"at":"2026-01-01T00:00:00.000Z","decision":{},"input":${input}${more}}}`;
const replay = (...text: readonly string[]) => replayJournal(readJournal([HEADER, ...text]).records);

describe('a text that is no journal is refused', () => {
  test.each([
    ['', 'the journal is empty'],
    ['kind: List', 'the file is not an mcm journal'],
    ['\u0000\u0001\u001b[2J', 'the file is not an mcm journal'],
    ['[1, 2]', 'the file is not an mcm journal'],
    ['{"journal":"1"}', 'the file is not an mcm journal'],
    [
      '{"journal":2,"version":"9.0.0"}',
      'mcm 9.0.0 wrote the journal in format 2, but this version reads format 1; use a newer version of mcm',
    ],
  ])('%j', (text, because) => {
    expect(() => readJournal(text.split('\n'))).toThrow(new BadJournal(because));
  });
});

test('a truncated journal reports what is missing, and its complete records are repeated', async () => {
  const all = await lines();
  const cut = all.join('\n').slice(0, -400).split('\n');
  const { records, problems } = readJournal(cut);
  expect(problems).toEqual([
    `line ${cut.length} is not JSON and was skipped`,
    `the journal is incomplete: the file has ${records.length} records, but the last line is missing`,
  ]);
  expect(records.length).toBeGreaterThan(5);
  expect(replayJournal(records)).toEqual({ repeated: records.length, differences: [], problems: [] });
});

test('lines and fields of a newer version are skipped', async () => {
  const all = (await lines()).map((line) => line.replace('{"record":{', '{"colour":7,"record":{"mood":{"$new":1},'));
  const read = readJournal([...all.slice(0, 1), '{"future":{"a":[1]}}', '', ...all.slice(1)]);
  expect(read).toMatchObject({ version: '1.2.3', controller: 'test', problems: [] });
  expect(replayJournal(read.records)).toEqual({ repeated: read.records.length, differences: [], problems: [] });
});

describe('a record with a hostile input is a problem, and the others are repeated', () => {
  const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
  test.each([
    ['no input', 'null', 'the input of the record has no fields'],
    ['missing fields', '{"machine":{}}', 'the input lacks settings, calls, driver'],
    ['a missing object', '{"machine":{"$ref":7}}', 'object 7 is missing'],
    ['an unknown mark', '{"machine":{"$regexp":"(a+)+"}}', 'unknown mark $regexp'],
    ['a bad list', '{"machine":{"$set":1}}', 'a Set or Map in the record has no list of entries'],
    ['deep values', deep, 'the recorded values are nested deeper than 100 levels'],
    ['wrong types', '{"machine":1,"settings":2,"calls":3,"driver":4}', expect.stringContaining('Cannot read')],
  ])('%s', (_name, input, because) => {
    const { repeated, problems } = replay(record(input));
    expect(repeated).toBe(0);
    expect(problems).toHaveLength(1);
    const text = problems[0]?.replace(
      'machine of m-1 at 2026-01-01T00:00:00.000Z: cannot use the input of the record: ',
      '',
    );
    expect(text).toEqual(because);
  });

  test('an object that contains itself', () => {
    const { problems } = replay('{"object":0,"value":{"self":{"$ref":0}}}', record('{"machine":{"$ref":0}}'));
    expect(problems).toHaveLength(1);
  });

  test('a key that would replace the prototype has no effect', () => {
    replay(record('{"__proto__":{"polluted":true},"machine":{"constructor":{"prototype":{"polluted":true}}}}'));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

test('a damaged journal is refused, reported or repeated, and never an unexpected error', async () => {
  const text = (await lines()).join('\n');
  const random = seededRandom(7);
  for (let round = 0; round < 150; round++) {
    const at = Math.floor(random.next() * text.length);
    const damaged = `${text.slice(0, at)}${String.fromCharCode(random.next() * 128)}${text.slice(at + Math.floor(random.next() * 40))}`;
    try {
      replayJournal(readJournal(damaged.split('\n')).records);
    } catch (error) {
      expect(error).toBeInstanceOf(BadJournal);
    }
  }
});
