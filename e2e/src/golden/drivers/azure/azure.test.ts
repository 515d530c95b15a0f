import { beforeAll, expect, test } from 'vitest';
import { excusedBy } from '../excused.ts';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

const ELSEWHERE = [
  'the driver reads the provider spec as the API server stores it',
  'a failure of the token host gets the code Unavailable',
  'a 404 without an error code of the cloud is different from NotFound',
  'the driver sends the priority of a class',
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
    'a call that exceeds its deadline gets the code DeadlineExceeded + the driver does not send a field that only Azure sets':
      ['another code', 'one additional request', 'the code', 'the count of calls', 'the last request'],
    'the driver uses the code in a header if the body is not JSON + the driver does not send a field that only Azure sets':
      ['one additional request', 'the count of calls'],
    'mcm does not call initialize of a driver without this method': ['another code', 'the code', 'the text'],
    'a throttled request gets the code Unavailable': ['the count of calls'],
    'a throttled request gets the code Unavailable + the driver does not send a field that only Azure sets': [
      'the count of calls',
    ],
    'the driver does not register resource providers + the driver does not send a field that only Azure sets': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
      'the text of the cloud',
    ],
    'mcm returns an error for input that crashes the original': ['a metric', 'the count of calls'],
  });
});

test('the rules excuse exactly these parts of the recordings', () => {
  const { rules, values } = excusedBy(
    all.counts,
    RULES.map(({ row }) => row),
  );
  expect(values).toEqual({
    'driver calls': 342,
    'driver calls with a response that is not compared': 4,
    'driver calls with an error text in which the words of a parser are not compared': 7,
    'driver calls with metrics that are compared only partly': 4,
    'driver calls with requests that are compared only partly': 6,
    'driver calls with several accepted codes': 4,
  });
  expect(rules).toEqual([2, 4, 0, 7, 3, 7, 6, 3, 1, 0, 1, 1, 1, 4, 148, 0, 0]);
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
