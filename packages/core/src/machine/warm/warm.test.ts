import { Annotations, type MachineStatus } from '@mcm/api';
import { expect, test } from 'vitest';
import { type MachineCode, MachineError } from '../../driver/contract/errors.ts';
import { WarmTexts } from '../../warm/warm-machine.ts';
import type { CallKind, CallMemory, MachineObservation } from '../model/observation.ts';
import { see, verbs } from '../test-dying.ts';
import { at, machine, NOON, node } from '../testing.ts';
import { planWarm } from './warm.ts';

/** A wrong step could stop the VM of a machine with pods, or delete a machine whose VM runs. */

type Phase = NonNullable<MachineStatus['currentStatus']>['phase'];
interface Given {
  readonly state?: string | undefined;
  readonly power?: string;
  readonly phase?: Phase;
  readonly description?: string;
  readonly updated?: number;
  readonly providerID?: string | undefined;
}

const warm = (given: Given = {}) => {
  const { state, power, phase = 'Running', description = 'joined', updated = 0 } = { state: 'Stopped', ...given };
  const { providerID } = { providerID: 'fake:///zone/vm-0', ...given };
  const annotations: Record<string, string> = {};
  if (state !== undefined) annotations[Annotations.WarmState] = state;
  if (power !== undefined) annotations[Annotations.WarmPower] = power;
  return machine({
    metadata: { annotations },
    spec: providerID === undefined ? {} : { providerID },
    status: {
      currentStatus: { phase, lastUpdateTime: at(updated) },
      lastOperation: { description, state: 'Processing', type: 'Create', lastUpdateTime: at(updated) },
    },
  });
};

const DRIVER = { initialize: false, status: true, stop: true, start: true };
const { node: _node, ...BARE } = see(warm());
const seen = (given: Given, change: Partial<MachineObservation> = {}): MachineObservation => ({
  ...BARE,
  machine: warm(given),
  driver: DRIVER,
  ...change,
});
const stepsOf = (o: MachineObservation, now = NOON): readonly string[] | undefined => {
  const plan = planWarm(o, now);
  return plan && verbs(plan.actions);
};

const ended = (kind: CallKind, minutes: number, code?: MachineCode, change: object = {}): CallMemory => ({
  last: {
    kind,
    at: new Date(at(minutes)),
    outcome: code ? { ok: false, error: new MachineError(code, 'boom') } : { ok: true },
    failures: code ? 1 : 0,
    inputs: 'i',
    ...change,
  },
});
const running = (kind: CallKind): CallMemory => ({ running: { kind, since: NOON } });
const STOPPING = `Stopping ${at(0)}`;
const STARTING = `Starting ${at(0)}`;
const own = node({ spec: { providerID: 'fake:///zone/vm-0' } });
const other = node({ spec: { providerID: 'fake:///zone/vm-9' } });
const stopped: Given = { power: 'Stopped', phase: 'Available' };

test.each<[what: string, o: MachineObservation, steps: readonly string[] | undefined]>([
  ['a machine that is not warm', seen({ state: undefined }), undefined],
  ['the machine has joined', seen({}), ['annotate']],
  ['the machine has not joined', seen({ phase: 'Pending' }), undefined],
  ['a driver call is running', seen({}, { calls: running('initialize') }), undefined],
  ['the VM is not initialized', seen({}, { calls: ended('initialize', 0, 'Uninitialized') }), undefined],
  ['the VM must run', seen({ state: 'Running' }), undefined],
  ['the stop is recorded', seen({ power: STOPPING }), ['call stop']],
  ['a stop of an earlier time does not count', seen({ power: STOPPING }, { calls: ended('stop', -1) }), ['call stop']],
  [
    'a stop that is recorded in the future',
    seen({ power: `Stopping ${at(1)}` }, { calls: ended('stop', 0) }),
    ['annotate'],
  ],
  [
    'a start that is recorded in the future',
    seen({ state: undefined, power: `Starting ${at(1)}`, phase: 'Pending' }, { calls: ended('start', 0) }),
    ['annotate'],
  ],
  ['another call is running', seen({ power: STOPPING }, { calls: running('status') }), []],
  [
    'the VM has stopped',
    seen({ power: STOPPING }, { calls: ended('stop', 0), node: own }),
    ['releaseNode', 'annotate', 'say'],
  ],
  [
    'the Node of another VM stays',
    seen({ power: STOPPING }, { calls: ended('stop', 0), node: other }),
    ['annotate', 'say'],
  ],
  ['the VM does not exist', seen({ power: STOPPING }, { calls: ended('stop', 0, 'NotFound') }), ['deleteUnstarted']],
  ['the stop failed', seen({ power: STOPPING }, { calls: ended('stop', 0, 'Internal') }), ['writeStatus']],
  ['the Node of a stopped VM is back', seen(stopped, { node: own }), ['annotate']],
  ['the Node of another VM is no sign', seen(stopped, { node: other }), ['call status']],
  ['a stopped VM is looked up', seen(stopped), ['call status']],
  ['the lookup is running', seen(stopped, { calls: running('status') }), []],
  ['the VM is still stopped', seen(stopped, { calls: ended('stop', 0) }), []],
  ['the stopped VM is gone', seen(stopped, { calls: ended('status', 0, 'NotFound') }), ['deleteUnstarted']],
  ['the lookup failed', seen(stopped, { calls: ended('status', 0, 'Internal') }), []],
  ['the stopped VM runs', seen(stopped, { calls: ended('status', 0) }), ['annotate']],
  [
    'the cloud reports the stopped VM',
    seen(stopped, { calls: ended('status', 0, undefined, { outcome: { ok: true, ending: 'stopped' } }) }),
    [],
  ],
  ['a stop without a VM is no lookup', seen(stopped, { calls: ended('stop', 0, 'NotFound') }), []],
  ['the phase of a stopped VM', seen({ power: 'Stopped' }), ['writeStatus']],
  ['a start that a set has given up', seen({ power: STARTING, phase: 'Pending' }), ['annotate']],
  ['a set takes the machine', seen({ ...stopped, phase: 'Pending', description: WarmTexts.taken }), []],
  ['a set uses the machine', seen({ state: undefined, power: 'Stopped', phase: 'Available' }), ['writeStatus']],
  [
    'a set uses the machine, which is Pending',
    seen({ state: undefined, power: 'Stopped', phase: 'Pending' }),
    ['annotate'],
  ],
  ['a stop is running', seen({ state: undefined, power: 'Stopped', phase: 'Pending' }, { calls: running('stop') }), []],
  ['the start is recorded', seen({ state: undefined, power: STARTING, phase: 'Pending' }), ['call start']],
  [
    'the VM has started',
    seen({ state: undefined, power: STARTING, phase: 'Pending' }, { calls: ended('start', 0) }),
    undefined,
  ],
  ['the Node is Ready again', seen({ state: undefined, power: STARTING }), ['annotate']],
  [
    'the start has a final error',
    seen({ state: undefined, power: STARTING, phase: 'Pending' }, { calls: ended('start', 0, 'ResourceExhausted') }),
    ['deleteUnstarted'],
  ],
  [
    'the start may succeed later',
    seen({ state: undefined, power: STARTING, phase: 'Pending' }, { calls: ended('start', 0, 'Unavailable') }),
    ['writeStatus'],
  ],
])('a warm machine: %s', (_what, o, steps) => {
  expect(stepsOf(o)).toEqual(steps);
});

test.each<[what: string, given: Given, change: Partial<MachineObservation>, because: string]>([
  ['the driver cannot stop VMs', {}, { driver: { ...DRIVER, stop: false } }, 'the driver cannot stop VMs'],
  ['the driver cannot hibernate', { state: 'Hibernated' }, {}, 'the driver cannot hibernate VMs'],
  ['no target cluster', {}, { hasTarget: false }, 'without a target cluster'],
])('a setting that is impossible gets no VM: %s', (_what, given, change, because) => {
  const o = seen({ ...given, providerID: undefined }, change);
  expect(stepsOf(o)).toEqual(['writeStatus']);
  expect(planWarm(o, NOON)?.because).toContain(because);
  expect(stepsOf(seen({ ...given, state: 'Running', providerID: undefined }, change))).toBeUndefined();
});

test('a set must complete its use within half a minute, or the VM is stopped again', () => {
  const o = seen({ ...stopped, phase: 'Pending', description: WarmTexts.taken });
  expect(stepsOf(o, new Date(NOON.getTime() + 29_000))).toEqual([]);
  expect(stepsOf(o, new Date(NOON.getTime() + 30_000))).toEqual(['writeStatus']);
});

test('a stopped VM is looked up once an hour', () => {
  const o = seen(stopped, { calls: ended('status', 0, 'Internal') });
  expect(stepsOf(o, new Date(at(59)))).toEqual([]);
  expect(stepsOf(o, new Date(at(60)))).toEqual(['call status']);
});

test('a failed call is repeated after its wait, or when its inputs change', () => {
  const said: Given = { power: STOPPING };
  const o = seen(said, { calls: ended('stop', 0, 'Internal') });
  const [report] = planWarm(o, NOON)?.actions ?? [];
  if (report?.do !== 'writeStatus') throw new Error('the failure is not reported');
  const reported = { ...o, machine: { ...o.machine, status: report.status } };
  expect(stepsOf(reported)).toEqual([]);
  expect(stepsOf(reported, new Date(at(60)))).toEqual(['call stop']);
  expect(stepsOf({ ...reported, inputs: 'corrected' })).toEqual(['call stop']);
});

test('after the creation timeout, the start is not repeated', () => {
  const o = seen({ state: undefined, power: STARTING, phase: 'Pending' }, { calls: ended('start', 0, 'Unavailable') });
  expect(stepsOf(o, new Date(at(60)))).toBeUndefined();
});
