import { Annotations, type Machine, type MachinePhase } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { isAvailable } from '../../objects/machines.ts';
import { mirrored } from '../../settings/conditions.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import type { MachineObservation } from '../model/observation.ts';
import { nextStep } from '../next-step.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';

const KEY = Annotations.AwaitsReadiness;
const LATER = new Date(NOON.getTime() + 60_000);

const observe = (m: Machine, n: Node | undefined): MachineObservation => ({
  machine: m,
  settings: settingsOf(m, MACHINE_DEFAULTS),
  inputs: '',
  asksForToken: false,
  hasTarget: true,
  ...(n ? { node: n } : {}),
  frozen: false,
  calls: {},
  driver: { initialize: false, status: false },
  replacementsInProgress: 0,
});

const inPhase = (phase: MachinePhase, recorded?: string): Machine =>
  machine({
    metadata: { labels: { node: 'fakeNode-0' }, ...(recorded ? { annotations: { [KEY]: recorded } } : {}) },
    spec: { providerID: 'aws:///r/i-1' },
    status: {
      conditions: mirrored(hc('True')),
      currentStatus: { phase, lastUpdateTime: at(0) },
      lastOperation: { type: 'Create', state: 'Successful', description: '', lastUpdateTime: at(0) },
    },
  });

const tainted = (...rules: readonly string[]): Node =>
  node({
    spec: {
      providerID: 'aws:///r/i-1',
      taints: rules.map((rule) => ({ key: `readiness.k8s.io/${rule}`, effect: 'NoSchedule' as const })),
    },
  });

function written(m: Machine, n: Node | undefined): string | null | 'unchanged' {
  const action = nextStep(observe(m, n), LATER).actions.find((each) => each.do === 'annotate');
  return action?.do === 'annotate' ? (action.annotations[KEY] ?? null) : 'unchanged';
}

const since = (keys: string, minute = 1): string => `${at(minute)} ${keys}`;

test.each<[what: string, machine: Machine, node: Node | undefined, written: string | null]>([
  ['a taint is recorded with the time', inPhase('Running'), tainted('a'), since('readiness.k8s.io/a')],
  [
    'several taints are recorded once, in a fixed order',
    inPhase('Running'),
    tainted('b', 'a', 'b'),
    since('readiness.k8s.io/a,readiness.k8s.io/b'),
  ],
  [
    'another taint keeps the first time',
    inPhase('Running', since('readiness.k8s.io/a', 0)),
    tainted('a', 'b'),
    since('readiness.k8s.io/a,readiness.k8s.io/b', 0),
  ],
  [
    'an unhealthy machine is recorded before it is Running again',
    inPhase('Unknown'),
    tainted('a'),
    since('readiness.k8s.io/a'),
  ],
  ['without taints, the record is removed', inPhase('Running', since('readiness.k8s.io/a', 0)), tainted(), null],
  [
    'an unchanged taint is not written again',
    inPhase('Running', since('readiness.k8s.io/a', 0)),
    tainted('a'),
    'unchanged',
  ],
  ['a machine without taints gets no record', inPhase('Running'), tainted(), 'unchanged'],
  ['a machine that has not joined gets no record', inPhase('Pending'), tainted('a'), 'unchanged'],
  [
    'a machine without a Node keeps its record',
    inPhase('Unknown', since('readiness.k8s.io/a', 0)),
    undefined,
    'unchanged',
  ],
  [
    'taints of the Node of another VM are ignored',
    inPhase('Running'),
    { ...tainted('a'), spec: { ...tainted('a').spec, providerID: 'aws:///r/i-2' } },
    'unchanged',
  ],
])('%s', (_what, m, n, expected) => {
  expect(written(m, n)).toBe(expected);
});

test('only the record makes a Running machine unavailable', () => {
  expect(isAvailable(inPhase('Running'))).toBe(true);
  expect(isAvailable(inPhase('Running', since('readiness.k8s.io/a')))).toBe(false);
});
