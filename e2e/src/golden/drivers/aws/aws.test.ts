import { beforeAll, expect, test } from 'vitest';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

/** Rules that only the recordings of made-up.test.ts need. */
const ELSEWHERE = [
  'a failure of the token host gets the code Unavailable',
  '`AssignIpv6Addresses` with a lost answer',
  'A value of a Secret that is not UTF-8',
  'volumes are requested one at a time',
];

let all: Played;
beforeAll(async () => {
  all = await playAll('aws', playCase);
}, LONGEST_MS);

test('the requests and results of every recorded call equal those of the original, except for the listed differences', () => {
  expect(all.failures).toEqual([]);
  expect(all.played).toBe(563);
});

test('a change of any recording is detected, unless a rule covers it', () => {
  expect(missed(all)).toEqual([]);
});

test('a rule covers exactly the difference in its row', () => {
  expect(coverage(all)).toEqual({
    'IPv6 prefixes are read from the interface’s own entry': [
      'another code',
      'the code',
      'the count of calls',
      'the text',
    ],
    'a VM that ends immediately after its launch is reported as such': [
      'another code',
      'the code',
      'the count of calls',
      'the text',
    ],
    'a terminated VM counts as deleted': ['one additional request', 'the code', 'the count of calls', 'the response'],
    'a canceled call gets the code Canceled': [
      'another code',
      'one additional request',
      'the count of calls',
      'the text',
    ],
    'a call after its deadline gets the code DeadlineExceeded': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
    ],
    'a lack of capacity is not retried within the call': [
      'a metric',
      'one additional request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
    ],
    'the provider spec is read in the form that the API server stores': [
      'a metric',
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the first request',
      'the last request',
      'the response',
      'the text',
    ],
    'a throttled call gets the code Unavailable': ['the count of calls'],
    'an answer that is not from EC2 gets the code Internal': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the text',
    ],
    'more IPv6 prefixes than wanted are not an error': ['another code', 'the code', 'the count of calls', 'the text'],
  });
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
