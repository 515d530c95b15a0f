import { beforeAll, expect, test } from 'vitest';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

/** Needed by recordings of made-up.test.ts. */
const ELSEWHERE = ['a token host that fails is Unavailable'];

let all: Played;
beforeAll(async () => {
  all = await playAll('aws', playCase);
}, LONGEST_MS);

test('every recorded call is sent and answered as the original did, but for the listed differences', () => {
  expect(all.failures).toEqual([]);
  expect(all.played).toBe(563);
});

test('a change of any recording is seen, unless a rule covers it', () => {
  expect(missed(all)).toEqual([]);
});

test('a rule covers what its row says, and nothing else', () => {
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
    'a terminated VM counts as deleted': ['one more request', 'the code', 'the count of calls', 'the response'],
    'a call that its caller cancels is Canceled': [
      'another code',
      'one more request',
      'the count of calls',
      'the text',
    ],
    'a call that exceeds its deadline is DeadlineExceeded': [
      'another code',
      'one more request',
      'the code',
      'the count of calls',
    ],
    'a lack of capacity is not retried within the call': [
      'a metric',
      'one more request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
    ],
    'a provider spec is read as the API server stores it': [
      'a metric',
      'another code',
      'one more request',
      'the code',
      'the count of calls',
      'the first request',
      'the last request',
      'the response',
      'the text',
    ],
    'a throttled call is Unavailable': ['the count of calls'],
    'an answer that does not come from EC2 is Internal': [
      'another code',
      'one more request',
      'the code',
      'the count of calls',
      'the text',
    ],
    'more IPv6 prefixes than wanted are not an error': ['another code', 'the code', 'the count of calls', 'the text'],
  });
});

test('every rule is needed by a recording and has its row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
