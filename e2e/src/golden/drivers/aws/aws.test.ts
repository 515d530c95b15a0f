import { beforeAll, expect, test } from 'vitest';
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
  expect(all.counts).toEqual({
    'driver calls': 582,
    'driver calls that a rule excuses entirely': 2,
    'driver calls with a response that is not compared': 2,
    'driver calls with an error text in which the words of a parser are not compared': 16,
    'driver calls with metrics that are compared only partly': 3,
    'driver calls with requests that are compared only partly': 8,
    'driver calls with several accepted codes': 2,
    'driver calls with several accepted recordings': 2,
    'driver calls with the rule "a call that exceeds its deadline gets the code DeadlineExceeded"': 1,
    'driver calls with the rule "a canceled call gets the code Canceled"': 5,
    'driver calls with the rule "a spot request has the tags of its VM"': 5,
    'driver calls with the rule "a terminated VM counts as deleted"': 1,
    'driver calls with the rule "a throttled call gets the code Unavailable"': 12,
    'driver calls with the rule "a response that is not from EC2 has the code Internal"': 2,
    'driver calls with the rule "if another request already used the client token, the driver uses a new token"': 1,
    'driver calls with the rule "the driver accepts more IPv6 prefixes than requested"': 3,
    'driver calls with the rule "the driver disables the source/destination check on every interface"': 1,
    'driver calls with the rule "the driver does not retry a call that the cloud refuses because of missing capacity"': 1,
    'driver calls with the rule "the driver reads the IPv6 prefixes of an interface from its own entry"': 3,
    'driver calls with the rule "the driver reads the provider spec as the API server stores it"': 2,
    'driver calls with the rule "the driver retries a throttled call more often than the original, and counts it as one call"': 1,
    'driver calls with the rule "the driver reuses results of recent requests"': 4,
    'driver calls with the rule "the error reports that a VM ended immediately after its launch"': 1,
  });
});

test('every rule is needed by a recording, and has a row in the table', async () => {
  const documented = await documentedRows();
  for (const { row } of RULES) {
    expect(documented).toContain(row);
    expect([...all.rows, ...ELSEWHERE]).toContain(row);
  }
});
