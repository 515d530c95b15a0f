import { beforeAll, expect, test } from 'vitest';
import { excusedBy } from '../excused.ts';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

const ELSEWHERE = [
  'the driver reads the provider spec as the API server stores it',
  'a failure of the token host gets the code Unavailable',
  'A 404 without an error of Google',
  'a response that is not from Compute Engine has the code Internal',
];

let all: Played;
beforeAll(async () => {
  all = await playAll('gcp', playCase);
}, LONGEST_MS);

test('the requests and results of every recorded call equal those of the original, except for the listed differences', () => {
  expect(all.failures).toEqual([]);
  expect(all.played).toBe(285);
});

test('a change of any recording is detected, unless a rule covers it', () => {
  expect(missed(all)).toEqual([]);
});

test('a rule covers exactly the difference in its row', () => {
  expect(coverage(all)).toEqual({
    'the driver creates no VM for a class without the tags': [
      'a metric',
      'one additional request',
      'the code',
      'the count of calls',
      'the first request',
      'the last request',
      'the response',
    ],
    'the driver has no methods for calls that GCP does not support': ['another code', 'the code', 'the text'],
    'the driver checks an existing VM with the name of the machine': ['one additional request'],
    'the driver refuses numbers over 53 bits': [
      'a metric',
      'one additional request',
      'the code',
      'the count of calls',
      'the first request',
      'the last request',
      'the response',
    ],
    'a throttled request gets the code Unavailable': ['the count of calls'],
    'the driver refuses a token host outside of Google': [
      'a metric',
      'one additional request',
      'the code',
      'the count of calls',
      'the first request',
      'the last request',
      'the response',
    ],
    'a quota error at the insertion gets the code ResourceExhausted': ['the count of calls'],
    'the driver requests volumes one at a time': ['the count of calls'],
    'mcm returns an error for input that crashes the original': ['a metric', 'the count of calls'],
  });
});

test('the rules excuse exactly these parts of the recordings', () => {
  const { rules, values } = excusedBy(
    all.counts,
    RULES.map(({ row }) => row),
  );
  expect(values).toEqual({
    'driver calls': 284,
    'driver calls with a response that is not compared': 5,
    'driver calls with an error text in which the words of a parser are not compared': 17,
    'driver calls with metrics that are compared only partly': 5,
    'driver calls with requests that are compared only partly': 2,
    'driver calls with several accepted codes': 5,
  });
  expect(rules).toEqual([2, 5, 0, 1, 5, 2, 1, 0, 1, 1, 4, 1, 1, 0, 0]);
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
