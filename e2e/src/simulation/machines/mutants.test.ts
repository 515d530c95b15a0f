import type { TransportRequest, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { playMachines } from './machine-history.ts';
import type { Defect } from './machine-world.ts';

/** What proves nothing unless it can see: controllers that are broken on purpose, and the judge that must say so. */

/** As many seeds as are played from the given one on, at most; the first that shows it ends the search. */
const SEEDS = 40;

const withBody = (request: TransportRequest, change: (body: string) => string): TransportRequest =>
  request.body === undefined ? request : { ...request, body: change(request.body) };

const isStatusOfMachine = ({ method, path }: TransportRequest): boolean =>
  method === 'PATCH' && /\/machines\/[^/]+\/status/.test(path);

/** Rewrites what the controller says in the status of machines. */
const saying =
  (change: (body: string, clock: VirtualClock) => string): NonNullable<Defect['kube']> =>
  (transport, clock) =>
  (request) =>
    transport(isStatusOfMachine(request) ? withBody(request, (body) => change(body, clock)) : request);

/** A request for a VM that is repeated has a token of its own, and so makes another. */
const tokenless = (): NonNullable<Defect['cloud']> => {
  const asked = new Set<string>();
  const fresh = (body: string): string =>
    body.replace(/"clientToken":"([^"]+)"/, (all, token: string) => {
      if (!asked.has(token)) {
        asked.add(token);
        return all;
      }
      asked.add(`${token} ${asked.size}`);
      return `"clientToken":"${token}-${asked.size}"`;
    });
  return (transport) => (request) => {
    const creates = request.method === 'POST' && request.path.startsWith('/v1/instances?');
    return transport(creates ? withBody(request, fresh) : request);
  };
};

/** The node looks empty: its pods are not seen. */
const blindToPods: NonNullable<Defect['kube']> = (transport) => (request) => {
  const looks = request.method === 'GET' && /\/pods(\?|$)/.test(request.path);
  const { path } = request;
  return transport(
    looks
      ? { ...request, path: `${path}${path.includes('?') ? '&' : '?'}fieldSelector=metadata.name%3Dnobody` }
      : request,
  );
};

/** Believes that it has asked pods to go, and has asked nobody. */
const evictsNobody: NonNullable<Defect['kube']> = (transport) => async (request) => {
  if (!request.path.endsWith('/eviction')) return transport(request);
  const answer = new Response('{"kind":"Status","apiVersion":"v1","status":"Success"}', {
    status: 201,
    headers: { 'content-type': 'application/json' },
  });
  return answer;
};

interface Mutant {
  readonly rule: string;
  readonly what: string;
  /** Where the search begins: a seed that shows it today. */
  readonly from: number;
  readonly defect: () => Defect;
}

const MUTANTS: readonly Mutant[] = [
  { rule: '(a)', what: 'makes a VM twice', from: 20, defect: () => ({ cloud: tokenless() }) },
  { rule: '(c)', what: 'deletes VMs before their drains', from: 1, defect: () => ({ kube: blindToPods }) },
  { rule: '(c)', what: 'evicts nobody, but forces at the deadline', from: 7, defect: () => ({ kube: evictsNobody }) },
  {
    rule: '(f)',
    what: 'does not say what it waits for',
    from: 10,
    defect: () => ({ kube: saying((body) => body.replaceAll('Waiting: ', 'Busy: ')) }),
  },
  {
    rule: '(i)',
    what: 'writes at each look',
    from: 23,
    defect: () => ({
      kube: saying((body, clock) => body.replaceAll('Waiting: pod', `Waiting: at ${clock.now().getTime()} pod`)),
    }),
  },
];

test.each(MUTANTS)('$rule: a controller that $what is caught', async ({ rule, from, defect }) => {
  const caught: string[] = [];
  for (let seed = from; seed < from + SEEDS && !caught.some((text) => text.includes(`: ${rule} `)); seed += 1) {
    const { violations } = await playMachines(seed, defect());
    caught.push(...violations.map((text) => `seed ${seed}: ${text}`));
  }
  expect(caught.join('\n')).toContain(`: ${rule} `);
});
