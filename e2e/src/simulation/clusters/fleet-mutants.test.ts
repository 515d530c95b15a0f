import type { Transport, TransportRequest } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { answerOf } from '../network/answer.ts';
import { playFleet } from './fleet-history.ts';
import type { FleetDefect } from './replica.ts';

/** Tests the verifiers with defective replicas. */

const SEEDS = 10;

const isLeaseOfCluster = ({ path }: TransportRequest): boolean => /\/namespaces\/c\d+\/leases/.test(path);

const believesRenewals = (transport: Transport): Transport => {
  return async (request) => {
    if (request.method !== 'PUT' || !isLeaseOfCluster(request)) return transport(request);
    const renewed = answerOf(200, request.body ?? '');
    return transport(request).then(
      (answer) => (answer.status < 300 ? answer : renewed),
      () => renewed,
    );
  };
};

const neverAcquires = (transport: Transport, process: string): Transport => {
  return async (request) => {
    const refused = process.endsWith('-1') && isLeaseOfCluster(request) && request.path.includes('/c1/');
    return refused && request.method !== 'GET' ? answerOf(500, '{"kind":"Status","code":500}') : transport(request);
  };
};

const hidesPods = (transport: Transport): Transport => {
  return async (request) => {
    const looks = request.method === 'GET' && /\/pods(\?|$)/.test(request.path);
    const separator = request.path.includes('?') ? '&' : '?';
    return transport(
      looks ? { ...request, path: `${request.path}${separator}fieldSelector=metadata.name%3Dnone` } : request,
    );
  };
};

test.each<[what: string, defect: FleetDefect, from: number, violation: RegExp]>(
  sampled(
    [
      ['ignores lost Leases', { seed: believesRenewals }, 8, / for cluster c\d+ while ".*" holds its Lease$/],
      ['deletes VMs before their drains', { target: hidesPods }, 1, /while the pods .* still run on it/],
      [
        'never acquires a Lease',
        { seed: neverAcquires },
        7,
        /^no machine-controller(-manager)? serves cluster c1 in time/,
      ],
    ],
    1,
  ),
)('a replica that %s is reported', async (_, defect, from, violation) => {
  const seen: string[] = [];
  for (let seed = from; seed < from + SEEDS && !seen.some((text) => violation.test(text)); seed += 1)
    seen.push(...(await playFleet({ seed, defect, endsAtViolation: true })).violations);
  expect(seen).toContainEqual(expect.stringMatching(violation));
});
