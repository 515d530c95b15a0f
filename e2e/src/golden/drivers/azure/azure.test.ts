import { beforeAll, expect, test } from 'vitest';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

/** Needed by recordings of another cloud, or by those of made-up.test.ts. */
const ELSEWHERE = [
  'a provider spec is read as the API server stores it',
  'a token host that fails is Unavailable',
  'a 404 without a code of the cloud is not an absence',
];

let all: Played;
beforeAll(async () => {
  all = await playAll('azure', playCase);
}, LONGEST_MS);

test('every recorded call is sent and answered as the original did, but for the listed differences', () => {
  expect(all.failures).toEqual([]);
  expect(all.played).toBe(343);
});

test('a change of any recording is seen, unless a rule covers it', () => {
  expect(missed(all)).toEqual([]);
});

test('a rule covers what its row says, and nothing else', () => {
  expect(coverage(all)).toEqual({
    'a call that exceeds its deadline is DeadlineExceeded + a field that only Azure sets is not sent': [
      'another code',
      'one more request',
      'the code',
      'the count of calls',
      'the last request',
    ],
    'a code in a header counts if the body is not JSON + a field that only Azure sets is not sent': [
      'one more request',
      'the count of calls',
    ],
    'a driver without initialize sends no call for it': ['another code', 'the code', 'the text'],
    'a request that Azure throttles is Unavailable': ['the count of calls'],
    'a request that Azure throttles is Unavailable + a field that only Azure sets is not sent': ['the count of calls'],
    'only a user registers a resource provider + a field that only Azure sets is not sent': [
      'another code',
      'one more request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
      'the words of the cloud',
    ],
    "Input that ends the original's process is an error here": ['a metric', 'the count of calls'],
  });
});

test('every rule is needed by a recording and has its row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
