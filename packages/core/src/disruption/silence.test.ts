import type { Machine, MachinePhase } from '@mcm/api';
import { expect, test } from 'vitest';
import { at, machine, NOON } from '../machine/testing.ts';
import { BREAKER_DEFAULTS, openBreaker, silenceIndexes } from './silence.ts';

interface Given {
  readonly phase: MachinePhase;
  /** Minutes after noon. */
  readonly since?: number;
  readonly zone?: string;
}

const given = ({ phase, since = -60, zone = 'a' }: Given): Machine =>
  machine({
    spec: { nodeTemplate: { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } } },
    status: {
      currentStatus: { phase, lastUpdateTime: at(since) },
      lastOperation: { type: 'HealthCheck', state: 'Successful', description: '', lastUpdateTime: at(since) },
    },
  });

const many = (count: number, what: Given): Machine[] => Array.from({ length: count }, () => given(what));

const judge = (mine: Machine, others: readonly Machine[]) =>
  openBreaker(
    mine,
    (index, key) => [mine, ...others].filter((one) => silenceIndexes[index](one).includes(key)).length,
    BREAKER_DEFAULTS,
    NOON,
  );

const silent: Given = { phase: 'Unknown', since: -11 };

test('one silent machine among many is the machine', () => {
  expect(judge(given(silent), many(9, { phase: 'Running' }))).toBeUndefined();
});

test('two of two are replaced: fewer than the minimum count', () => {
  expect(judge(given(silent), many(1, silent))).toBeUndefined();
});

test('#12 the whole cluster', () => {
  expect(judge(given(silent), many(5, silent))).toEqual({ scope: 'zone a', silent: 6, joined: 6 });
});

test('#13 a zone of three, the others well', () => {
  const others = [...many(2, silent), ...many(20, { phase: 'Running', zone: 'b' })];
  expect(judge(given(silent), others)).toEqual({ scope: 'zone a', silent: 3, joined: 3 });
});

test('half of the cluster, too few in the machine’s own zone', () => {
  const others = [...many(3, { ...silent, zone: 'b' }), ...many(4, { phase: 'Running', zone: 'c' })];
  expect(judge(given(silent), others)?.scope).toBe('cluster');
});

test('machines that fell silent at other times are other causes', () => {
  expect(judge(given(silent), many(5, { phase: 'Unknown', since: -90 }))).toBeUndefined();
});

test.each([
  ['lately counts as silent', -4, true],
  ['long ago does not', -7, false],
])('one that spoke again %s', (_name, since, open) => {
  const others = [...many(1, silent), ...many(2, { phase: 'Running', since })];
  expect(judge(given(silent), others) !== undefined).toBe(open);
});

test('replacements that have not joined and machines that go tell nothing', () => {
  expect(
    judge(given(silent), [...many(5, { phase: 'Pending' }), ...many(5, { phase: 'Terminating' })]),
  ).toBeUndefined();
});
