import { beforeAll, expect, test } from 'vitest';
import { excusedBy } from '../excused.ts';
import { coverage, documentedRows, LONGEST_MS, missed, type Played, playAll } from '../testing.ts';
import { RULES } from './differences.ts';
import { playCase } from './index.ts';

const ELSEWHERE = [
  'A region that is not a host name, such as `-` or `a.b`',
  'a failure of the token host gets the code Unavailable',
  '`AssignIpv6Addresses` with a lost response',
  'A value of a Secret that is not UTF-8',
  'the driver requests volumes one at a time',
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
    'the driver reads the IPv6 prefixes of an interface from its own entry': [
      'another code',
      'the code',
      'the count of calls',
      'the text',
    ],
    'the error reports that a VM ended immediately after its launch': [
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
    'a call that exceeds its deadline gets the code DeadlineExceeded': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
    ],
    'the driver does not retry a call that the cloud refuses because of missing capacity': [
      'a metric',
      'one additional request',
      'the code',
      'the count of calls',
      'the last request',
      'the response',
    ],
    'the driver reads the provider spec as the API server stores it': [
      'another code',
      'the code',
      'the count of calls',
      'the text',
    ],
    'a throttled call gets the code Unavailable': ['the count of calls'],
    'a response that is not from EC2 has the code Internal': [
      'another code',
      'one additional request',
      'the code',
      'the count of calls',
      'the text',
    ],
    'the driver accepts more IPv6 prefixes than requested': [
      'another code',
      'the code',
      'the count of calls',
      'the text',
    ],
  });
});

test('the rules excuse exactly these parts of the recordings', () => {
  const { rules, values } = excusedBy(
    all.counts,
    RULES.map(({ row }) => row),
  );
  expect(values).toEqual({
    'driver calls': 582,
    'driver calls that a rule excuses entirely': 2,
    'driver calls with a response that is not compared': 2,
    'driver calls with an error text in which the words of a parser are not compared': 16,
    'driver calls with metrics that are compared only partly': 3,
    'driver calls with requests that are compared only partly': 8,
    'driver calls with several accepted codes': 2,
    'driver calls with several accepted recordings': 2,
  });
  expect(rules).toEqual([2, 2, 0, 0, 1, 12, 2, 5, 1, 1, 0, 0, 1, 1, 3, 3, 1, 1, 5, 4, 0]);
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
