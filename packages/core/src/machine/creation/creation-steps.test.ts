import { type MachineStatus, Taints } from '@mcm/api';
import { expect, test } from 'vitest';
import { at, hc, machine, node } from '../testing.ts';
import { creationSteps } from './creation-steps.ts';

const PROVIDER = { providerID: 'fake:///one' };
const in_ = (phase: 'Pending' | 'CrashLoopBackOff' | 'Failed', errorCode?: string): MachineStatus => ({
  currentStatus: { phase, lastUpdateTime: at(-5) },
  lastOperation: {
    description: '',
    state: phase === 'Pending' ? 'Processing' : 'Failed',
    type: 'Create',
    lastUpdateTime: at(-2),
    ...(errorCode ? { errorCode } : {}),
  },
});
const tainted = { taints: [{ ...Taints.CriticalComponentsNotReady }] };

test.each([
  ['nothing yet', machine(), undefined, 'InstanceCreated False Creating'],
  [
    'a quota',
    machine({ status: in_('CrashLoopBackOff', 'ResourceExhausted') }),
    undefined,
    'InstanceCreated False ResourceExhausted',
  ],
  [
    'a VM that is not initialised',
    machine({ spec: PROVIDER, status: in_('CrashLoopBackOff', 'Internal') }),
    undefined,
    'InstanceInitialized False Internal',
  ],
  ['no node', machine({ spec: PROVIDER, status: in_('Pending') }), undefined, 'NodeRegistered False NoNode'],
  ['no node in time', machine({ spec: PROVIDER, status: in_('Failed') }), undefined, 'NodeRegistered False NoNode'],
  [
    'the node of another VM',
    machine({ spec: PROVIDER, status: in_('Pending') }),
    node({ spec: { providerID: 'fake:///two' } }),
    'NodeRegistered False NodeOfAnotherVM',
  ],
  [
    'no word of it',
    machine({ spec: PROVIDER, status: in_('Pending') }),
    node({ conditions: [] }),
    'NodeReady False NotReported',
  ],
  [
    'not ready',
    machine({ spec: PROVIDER, status: in_('Pending') }),
    node({ conditions: hc('False') }),
    'NodeReady False ReadyIsFalse',
  ],
  [
    'components missing',
    machine({ spec: PROVIDER, status: in_('Pending') }),
    node({ spec: tainted }),
    'CriticalComponentsReady False TaintOnNode',
  ],
  [
    'an unfulfilled readiness rule',
    machine({ spec: PROVIDER, status: in_('Pending') }),
    node({ spec: { taints: [{ key: 'readiness.k8s.io/network', effect: 'NoSchedule' }] } }),
    'ReadinessTaintsRemoved False readiness.k8s.io/network',
  ],
  ['all there', machine({ spec: PROVIDER, status: in_('Pending') }), node(), undefined],
])('the metrics show the stage of a creation with %s [incident 26]', (_what, born, its, open) => {
  const stages = creationSteps(born, its);
  const at_ = stages.findIndex(({ status }) => status === 'False');
  const stage = stages[at_];
  expect(stage && `${stage.type} ${stage.status} ${stage.reason}`).toBe(open);
  const before = at_ === -1 ? stages : stages.slice(0, at_);
  expect(before.every(({ status }) => status === 'True')).toBe(true);
  expect(at_ === -1 ? [] : stages.slice(at_ + 1).filter(({ status }) => status !== 'Unknown')).toEqual([]);
});

test('the start of an open stage is reported', () => {
  const [created] = creationSteps(machine({ status: in_('CrashLoopBackOff', 'ResourceExhausted') }), undefined);
  expect(created?.since).toBe(at(-2));
  expect(creationSteps(machine({ spec: PROVIDER, status: in_('Pending') }), undefined)[2]?.since).toBe(at(-5));
});
