import { beforeAll, expect, test } from 'vitest';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

/** Only recordings of another cloud, or the changed recordings in made-up.test.ts, need these rules. */
const ELSEWHERE = [
  'the provider spec is read in the form that the API server stores',
  'a failure of the token host gets the code Unavailable',
  'a 404 without an error code of the cloud does not mean NotFound',
  'the priority of a class is sent',
];

let all: Played;
beforeAll(async () => {
  all = await playAll('azure', playCase);
}, LONGEST_MS);

test('the requests and results of every recorded call equal those of the original, except for the listed differences', () => {
  expect(all.failures).toEqual([]);
  expect(all.played).toBe(343);
});

test('a change of any recording is detected, unless a rule covers it', () => {
  expect(missed(all)).toEqual([]);
});

test('a rule covers exactly the difference in its row', () => {
  expect(coverage(all)).toEqual({
    'a call after its deadline gets the code DeadlineExceeded + a field that only Azure sets is not sent': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the last request',
    ],
    'a code in a header counts if the body is not JSON + a field that only Azure sets is not sent': [
      'one additional request',
      'the count of calls',
    ],
    'a driver without initialize sends no call for it': ['another code', 'the code', 'the text'],
    'a throttled request gets the code Unavailable': ['the count of calls'],
    'a throttled request gets the code Unavailable + a field that only Azure sets is not sent': ['the count of calls'],
    'the driver does not register resource providers + a field that only Azure sets is not sent': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
      'the text of the cloud',
    ],
    'input that ends the process of the original causes an error here': ['a metric', 'the count of calls'],
  });
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
