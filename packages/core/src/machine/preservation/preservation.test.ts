import { Annotations, type Machine, type MachinePhase, Taints } from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import type { DrainObservation, DrainPod } from '../../drain/model/observation.ts';
import type { NodeChange } from '../../node/patch.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { PlannedEvent } from '../model/plan.ts';
import { emptyDrain, pod } from '../test-dying.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';
import {
  buildCondition,
  effectiveValue,
  planPreservation,
  unprotection,
  wantsPreservationDrain,
} from './preservation.ts';

const { Preserve, LastAppliedNodePreserve: Last, ScaleDownDisabled, ScaleDownDisabledByMCM } = Annotations;
const HOUR = 60;
const TAINT = { ...Taints.Preserved };
const DRAINED = 'Preserved node drained successfully.';
const NOT_DRAINED = 'Preserved node could not be drained.';

const drainOf = (pods: readonly DrainPod[]): DrainObservation => ({ ...emptyDrain, nodeName: 'node-1', pods });

interface Given {
  readonly onNode?: string;
  readonly own?: string;
  readonly last?: string;
  readonly phase?: MachinePhase;
  readonly expiry?: number;
  readonly tainted?: boolean;
  readonly condition?: Partial<Condition>;
  readonly node?: boolean;
  readonly label?: boolean;
  readonly unschedulable?: true;
  readonly annotations?: Record<string, string>;
  readonly pods?: readonly DrainPod[];
}

const preserved = (change: Partial<Condition>): Condition => ({
  type: 'Preserved',
  status: 'True',
  lastTransitionTime: at(-5),
  ...change,
});

function see(given: Given): MachineObservation {
  const { onNode, own, last, phase = 'Running', expiry, tainted, condition, pods = [] } = given;
  const m = machine({
    metadata: {
      labels: given.label === false ? {} : { node: 'node-1' },
      annotations: {
        ...(own === undefined ? {} : { [Preserve]: own }),
        ...(last === undefined ? {} : { [Last]: last }),
      },
    },
    spec: { providerID: 'fake:///1' },
    status: {
      currentStatus: {
        phase,
        lastUpdateTime: at(-10),
        ...(expiry === undefined ? {} : { preserveExpiryTime: at(expiry) }),
      },
    },
  });
  const n = node({
    name: 'node-1',
    metadata: { annotations: { ...(onNode === undefined ? {} : { [Preserve]: onNode }), ...given.annotations } },
    spec: { ...(tainted ? { taints: [TAINT] } : {}), ...(given.unschedulable ? { unschedulable: true } : {}) },
    conditions: [...hc('True'), ...(condition ? [preserved(condition)] : [])],
  });
  return {
    machine: m,
    settings: settingsOf(m, MACHINE_DEFAULTS),
    inputs: 'i',
    asksForToken: false,
    hasTarget: true,
    ...(given.node === false || given.label === false ? {} : { node: n }),
    frozen: false,
    calls: {},
    driver: { initialize: false, status: true },
    replacementsInProgress: 0,
    ...(given.node === false || given.label === false ? {} : { drain: drainOf(pods) }),
  };
}

const merged = (map: Record<string, string> = {}, changes: Readonly<Record<string, string | null>> = {}) =>
  Object.fromEntries(
    Object.entries({ ...map, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null),
  );

function changed(n: Node, { metadata, spec }: NodeChange): Node {
  const { taints, ...rest } = n.spec;
  const next = spec?.taints === undefined ? taints : (spec.taints ?? undefined);
  return {
    ...n,
    metadata: { ...n.metadata, annotations: merged(n.metadata.annotations, metadata?.annotations) },
    spec: { ...rest, ...(next ? { taints: [...next] } : {}) },
  };
}

interface Settled {
  readonly machine: Machine;
  readonly node: Node | undefined;
  readonly steps: readonly string[];
  readonly events: readonly PlannedEvent[];
}

function settle(first: MachineObservation): Settled {
  let o = first;
  const steps: string[] = [];
  const events: PlannedEvent[] = [];
  for (let round = 0; round < 20; round++) {
    const actions = planPreservation(o, NOON)?.actions ?? [];
    if (actions.length === 0) return { machine: o.machine, node: o.node, steps, events };
    for (const action of actions) {
      steps.push(action.do);
      const { node: n } = o;
      if (action.do === 'writeStatus') {
        o = { ...o, machine: { ...o.machine, status: action.status } };
        if (action.event) events.push(action.event);
      } else if (action.do === 'annotate') {
        const annotations = merged(o.machine.metadata.annotations, action.annotations);
        o = { ...o, machine: { ...o.machine, metadata: { ...o.machine.metadata, annotations } } };
      } else if (action.do === 'syncNode' && n && action.patch.main) o = { ...o, node: changed(n, action.patch.main) };
      else if (action.do === 'setNodeCondition' && n) {
        const others = (n.status?.conditions ?? []).filter(({ type }) => type !== action.condition.type);
        o = { ...o, node: { ...n, status: { ...n.status, conditions: [...others, action.condition] } } };
      } else throw new Error(`not expected: ${action.do}`);
    }
  }
  throw new Error(`does not come to rest: ${steps}`);
}

const conditionOf = (n: Node | undefined): Condition | undefined =>
  n?.status?.conditions?.find(({ type }) => type === 'Preserved');

test.each<[row: string, given: Given, value: string]>([
  ['S-E1', { own: 'now' }, 'now'],
  ['S-E2', {}, ''],
  ['S-E3', { last: 'now' }, ''],
  ['S-E4', { onNode: 'now' }, 'now'],
  ['S-E5', { onNode: 'now', own: 'when-failed' }, 'now'],
  ['S-E6', { onNode: 'now', own: 'now', last: 'now' }, 'now'],
  ['S-E7', { onNode: 'now', own: 'now', last: 'when-failed' }, 'now'],
  ['S-E8', { own: 'when-failed', last: 'now', node: false }, 'when-failed'],
  ['the Node is missing: its last request is used:', { last: 'now', node: false }, 'now'],
  ['the Node is missing and was not annotated at the end:', { last: '', node: false }, ''],
  ['the Node is missing and its last value was invalid:', { last: 'later', node: false }, ''],
  ['the Node is missing and the Machine has the value false:', { own: 'false', last: 'now', node: false }, 'false'],
])('%s the effective value of the preservation comes from the Node or the Machine', (_row, given, value) => {
  const o = see(given);
  expect(effectiveValue(o.machine, o.node)).toBe(value);
});

interface Expected {
  readonly expiry: boolean;
  readonly condition?: 'True' | 'False';
  readonly tainted: boolean;
  readonly own?: string;
  readonly last?: string;
}

test.each<[row: string, given: Given, expected: Expected]>([
  ['S-M1', {}, { expiry: false, tainted: false }],
  ['S-M2', { onNode: 'now' }, { expiry: true, condition: 'True', tainted: false, last: 'now' }],
  ['S-M3', { onNode: 'when-failed' }, { expiry: false, tainted: false, last: 'when-failed' }],
  [
    'S-M4',
    { onNode: 'when-failed', phase: 'Failed' },
    { expiry: true, condition: 'True', tainted: true, last: 'when-failed' },
  ],
  ['S-M7', { own: 'now', expiry: -1, condition: {} }, { expiry: false, condition: 'False', tainted: false }],
  [
    'S-M8',
    { own: 'when-failed', phase: 'Failed', expiry: -1, tainted: true, condition: {} },
    { expiry: false, condition: 'False', tainted: false },
  ],
  ['S-M9', { own: 'invalidValue' }, { expiry: false, tainted: false, own: 'invalidValue' }],
  ['S-M11', { own: 'now', phase: 'Unknown', label: false }, { expiry: true, tainted: false, own: 'now' }],
  [
    'the request of a Node that is missing now keeps the machine',
    { last: 'now', phase: 'Failed', expiry: HOUR, node: false },
    { expiry: true, tainted: false, last: 'now' },
  ],
  [
    'the request of a Node that is missing now ends with its time',
    { last: 'now', phase: 'Failed', expiry: -1, node: false },
    { expiry: false, tainted: false },
  ],
  ['S-M13', { own: 'now', phase: 'Unknown', node: false }, { expiry: true, tainted: false, own: 'now' }],
  [
    'S-M14',
    { own: 'auto-preserved', expiry: HOUR, tainted: true, condition: {} },
    { expiry: false, condition: 'False', tainted: false },
  ],
  [
    'S-M17',
    { own: 'when-failed', expiry: HOUR, tainted: true, condition: {} },
    { expiry: false, condition: 'False', tainted: false, own: 'when-failed' },
  ],
  [
    'S-M19',
    { own: 'now', phase: 'Failed', tainted: true },
    { expiry: true, condition: 'True', tainted: true, own: 'now' },
  ],
  [
    'S-M20',
    { onNode: '', own: 'now', expiry: HOUR, condition: {} },
    { expiry: true, condition: 'True', tainted: false, own: 'now' },
  ],
  [
    'an invalid value of the Node does not prevent the expiry',
    { onNode: 'later', own: 'now', expiry: -1, condition: {} },
    { expiry: false, condition: 'False', tainted: false },
  ],
  [
    'auto-preserved is removed from a machine that recovered before it was preserved',
    { own: 'auto-preserved' },
    { expiry: false, tainted: false },
  ],
  [
    'false ends a preservation and stays',
    { own: 'false', expiry: HOUR, condition: {} },
    { expiry: false, condition: 'False', tainted: false, own: 'false' },
  ],
  [
    'a machine in creation is not preserved',
    { own: 'now', phase: 'CrashLoopBackOff' },
    { expiry: false, tainted: false, own: 'now' },
  ],
])('%s', (_row, given, expected) => {
  const { machine: m, node: n } = settle(see(given));
  expect({
    expiry: m.status?.currentStatus?.preserveExpiryTime !== undefined,
    condition: conditionOf(n)?.status,
    tainted: n?.spec.taints?.some(({ key }) => key === TAINT.key) ?? false,
    own: m.metadata.annotations?.[Preserve],
    last: m.metadata.annotations?.[Last],
  }).toEqual({ condition: undefined, own: undefined, last: undefined, ...expected });
});

describe('preserve', () => {
  const failed = { phase: 'Failed', own: 'now' } as const;
  test.each<[row: string, given: Given, condition: Partial<Condition>, tainted: boolean]>([
    ['S-PR2', { own: 'now' }, { status: 'True', reason: 'Preserved by user.' }, false],
    [
      'S-PR3',
      { ...failed, expiry: HOUR, condition: { message: 'x' }, annotations: { [ScaleDownDisabled]: 'true' } },
      { status: 'True' },
      true,
    ],
    ['S-PR4', failed, { status: 'True', reason: 'Preserved by user.' }, true],
    ['S-PR6', { ...failed, condition: { status: 'False', message: NOT_DRAINED } }, { status: 'True' }, true],
    ['S-PR7', { ...failed, own: 'when-failed' }, { status: 'True', reason: 'Preserved by user.' }, true],
    ['S-PR8', { ...failed, own: 'auto-preserved' }, { status: 'True', reason: 'Preserved by MCM.' }, true],
    ['S-PR10', { ...failed, unschedulable: true }, { status: 'True' }, true],
  ])('%s', (_row, given, condition, tainted) => {
    const { node: n } = settle(see(given));
    expect(conditionOf(n)).toMatchObject(condition);
    if (tainted) expect(conditionOf(n)?.message).toContain(DRAINED);
    expect(n?.spec.taints?.length ?? 0).toBe(tainted ? 1 : 0);
    expect(n?.spec.unschedulable).toBe(given.unschedulable);
    expect(n?.metadata.annotations?.[ScaleDownDisabled]).toBe('true');
    const foreign = given.annotations?.[ScaleDownDisabled] === 'true';
    expect(n?.metadata.annotations?.[ScaleDownDisabledByMCM]).toBe(foreign ? undefined : 'true');
  });

  test('the expiry is written first, counts from now, and never moves', () => {
    const o = see({ own: 'now' });
    expect(planPreservation(o, NOON)?.actions).toMatchObject([
      { do: 'writeStatus', status: { currentStatus: { preserveExpiryTime: at(96 * 60), lastUpdateTime: at(0) } } },
    ]);
    const kept = settle(see({ own: 'now', expiry: 7, condition: {} }));
    expect(kept.machine.status?.currentStatus?.preserveExpiryTime).toBe(at(7));
    expect(kept.steps).toEqual([]);
  });

  test('a preserved machine is reconciled at its expiry', () => {
    const plan = planPreservation(see({ own: 'now', expiry: 7, condition: {} }), NOON);
    expect(plan?.next).toEqual({ kind: 'waitUntil', instant: new Date(at(7)) });
  });

  test('a Failed node is tainted before its pods are evicted', () => {
    const given = { ...failed, expiry: HOUR, pods: [pod()] };
    expect(planPreservation(see(given), NOON)?.actions.map((action) => action.do)).toEqual(['syncNode']);
    const tainted = { ...given, tainted: true, annotations: { [ScaleDownDisabled]: 'true' } };
    expect(planPreservation(see(tainted), NOON)?.actions.map((action) => action.do)).toEqual(['evict']);
  });
});

test.each<
  [row: string, before: Partial<Condition> | undefined, drained: 'yes' | 'no' | undefined, after: object | undefined]
>([
  [
    'S-CB1',
    undefined,
    undefined,
    { status: 'True', message: 'Machine preserved until 2026-01-01 13:00:00 +0000 UTC.' },
  ],
  [
    'S-CB2',
    undefined,
    'yes',
    { status: 'True', message: `${DRAINED} Machine preserved until 2026-01-01 13:00:00 +0000 UTC.` },
  ],
  [
    'S-CB3',
    undefined,
    'no',
    { status: 'False', message: `${NOT_DRAINED} Machine preserved until 2026-01-01 13:00:00 +0000 UTC.` },
  ],
  [
    'S-CB5',
    { status: 'False', message: 'Machine preserved until x' },
    'no',
    { status: 'False', reason: 'Preserved by user.' },
  ],
  ['S-CB6', { status: 'False', message: NOT_DRAINED }, 'no', undefined],
  ['S-CB7', { status: 'True', message: DRAINED }, 'yes', undefined],
])('%s', (_row, before, drained, after) => {
  const terms = { value: 'now', expiry: at(HOUR) };
  const condition = buildCondition(before && preserved(before), terms, drained, NOON);
  if (after) expect(condition).toMatchObject(after);
  else expect(condition).toBeUndefined();
});

test.each<[row: string, given: Given, needed: boolean]>([
  ['S-DN1', { expiry: HOUR }, false],
  ['S-DN2', { phase: 'Failed', expiry: HOUR }, true],
  ['S-DN3', { phase: 'Failed', expiry: HOUR, condition: { message: NOT_DRAINED } }, true],
  ['S-DN4', { phase: 'Failed', expiry: HOUR, condition: { message: DRAINED } }, false],
])('%s', (_row, given, needed) => {
  const { machine: m, node: n } = see(given);
  expect(wantsPreservationDrain(m, n)).toBe(needed);
});

test.each<[row: string, given: Given, unschedulable: true | undefined]>([
  ['S-ST4', { own: 'false', expiry: HOUR, tainted: true, condition: {} }, undefined],
  ['S-ST5', { own: 'false', expiry: HOUR, tainted: true, condition: {}, unschedulable: true }, true],
])('%s', (_row, given, unschedulable) => {
  const { node: n } = settle(see(given));
  expect(n?.spec.taints).toBeUndefined();
  expect(n?.spec.unschedulable).toBe(unschedulable);
});

test.each<[row: string, given: Given]>([
  ['S-ST3 no node', { own: 'false', expiry: HOUR, label: false }],
  ['S-ST6 the label names a missing node', { own: 'false', expiry: HOUR, node: false }],
])('%s', (_row, given) => {
  expect(settle(see(given)).steps).toEqual(['writeStatus']);
});

test.each<[row: string, remove: boolean, byUs: boolean, gone: string[]]>([
  ['S-RA1', true, true, [ScaleDownDisabled, ScaleDownDisabledByMCM, Preserve]],
  ['S-RA2', false, true, [ScaleDownDisabled, ScaleDownDisabledByMCM]],
  ['S-RA3', true, false, [Preserve]],
  ['S-RA4', false, false, []],
])('%s', (_row, remove, byUs, gone) => {
  const annotations = { [ScaleDownDisabled]: 'true', ...(byUs ? { [ScaleDownDisabledByMCM]: 'true' } : {}) };
  const n = node({ metadata: { annotations: { ...annotations, [Preserve]: 'now' } } });
  expect(unprotection(n, remove)).toEqual(Object.fromEntries(gone.map((key) => [key, null])));
});

test('an interrupted end continues anywhere: the expiry is removed last', () => {
  const { steps } = settle(see({ own: 'now', expiry: -1, tainted: true, condition: {} }));
  expect(steps).toEqual(['setNodeCondition', 'syncNode', 'annotate', 'writeStatus']);
});

test('the condition of a Failed machine that mcm preserves has the reason "Preserved by MCM." [S-CB4]', () => {
  const condition = buildCondition(undefined, { value: 'auto-preserved', expiry: at(HOUR) }, 'yes', NOON);
  expect(condition).toMatchObject({ status: 'True', reason: 'Preserved by MCM.' });
});

test.each<[row: string, given: Given, bound: boolean]>([
  ['S-B1 nothing', {}, false],
  ['S-B2 no node label, nothing', { label: false }, false],
  ['S-B3 the machine is annotated', { own: 'now' }, true],
  ['S-B4 an expiry is set', { expiry: HOUR }, true],
  ['S-B5 the node is annotated', { onNode: 'now' }, true],
  ['S-B6 the last applied value is set', { last: 'now' }, true],
  ['S-B7 the node is missing, nothing else', { node: false }, false],
])('%s: a preservation must start or end: %s', (_row, given, bound) => {
  expect(planPreservation(see(given), NOON) !== undefined).toBe(bound);
});

test.each<[row: string, given: Given, writes: boolean]>([
  ['S-A2 node without the annotation, nothing applied last', { own: 'now', expiry: HOUR, condition: {} }, false],
  ['S-A3 node now, last now', { onNode: 'now', last: 'now', expiry: HOUR, condition: {} }, false],
  ['S-A4 node now, last when-failed', { onNode: 'now', last: 'when-failed', expiry: HOUR, condition: {} }, true],
  ['S-A5 machine annotated too', { onNode: 'now', last: 'now', own: 'now', expiry: HOUR, condition: {} }, true],
  ['S-A6 node no longer, machine annotated', { last: 'now', own: 'now' }, true],
  ['S-A7 node no longer, machine not', { last: 'now' }, true],
])('%s: the value of the Node is recorded: %s', (_row, given, writes) => {
  expect(settle(see(given)).steps.includes('annotate')).toBe(writes);
});

test.each<[row: string, given: Given, own: string | undefined, last: string | undefined]>([
  [
    'S-A1 the time is over: the requests are removed, and nothing is recorded',
    { own: 'now', expiry: -1 },
    undefined,
    undefined,
  ],
  ['S-A8 nothing before, node now', { onNode: 'now' }, undefined, 'now'],
  ['S-A9 machine now, node now', { onNode: 'now', own: 'now' }, undefined, 'now'],
  ['S-A10 machine now, last now, node none any more', { own: 'now', last: 'now' }, undefined, ''],
  ['S-A11 last now, node when-failed', { onNode: 'when-failed', last: 'now' }, undefined, 'when-failed'],
])('%s', (_row, given, own, last) => {
  const { annotations = {} } = settle(see(given)).machine.metadata;
  expect([annotations[Preserve], annotations[Last]]).toEqual([own, last]);
});

test('now, Unknown, without a node: the expiry is set [S-PR1]', () => {
  const { machine: m } = settle(see({ own: 'now', phase: 'Unknown', label: false }));
  expect(m.status?.currentStatus?.preserveExpiryTime).toBeDefined();
});

test.each<[row: string, given: Given, left: string | undefined]>([
  [
    'S-ST1 the time is over: the request on the Node is removed',
    { onNode: 'now', last: 'now', expiry: -1, condition: {} },
    undefined,
  ],
  [
    'S-ST2 recovered: the request on the Node stays',
    { onNode: 'when-failed', last: 'when-failed', expiry: HOUR, condition: {} },
    'when-failed',
  ],
])('%s', (_row, given, left) => {
  const { machine: m, node: n } = settle(see(given));
  expect(conditionOf(n)).toMatchObject({ status: 'False', reason: 'Preservation stopped.' });
  expect(n?.metadata.annotations?.[Preserve]).toBe(left);
  expect(m.status?.currentStatus?.preserveExpiryTime).toBeUndefined();
});

test.each<[what: string, given: Given, reason: string, message: string]>([
  [
    'it starts with the annotation of the Machine',
    { own: 'now' },
    'Preserved',
    'The machine is preserved until 2026-01-05T12:00:00Z, because of annotation node.machine.sapcloud.io/preserve=now of the Machine',
  ],
  [
    'it starts with the annotation of the Node',
    { onNode: 'when-failed', phase: 'Failed' },
    'Preserved',
    'The machine is preserved until 2026-01-05T12:00:00Z, because of annotation node.machine.sapcloud.io/preserve=when-failed of the Node',
  ],
  [
    'its time is over',
    { own: 'now', expiry: -1 },
    'PreservationEnded',
    'The preservation of the machine ended: its time expired',
  ],
  [
    'a user ended it',
    { own: 'false', expiry: 9 },
    'PreservationEnded',
    'The preservation of the machine ended because of annotation node.machine.sapcloud.io/preserve=false of the Machine',
  ],
  [
    'it has recovered',
    { own: 'when-failed', expiry: 9 },
    'PreservationEnded',
    'The preservation ended: the machine is not Failed',
  ],
  [
    'the annotation of a Failed machine was removed',
    { phase: 'Failed', expiry: 9 },
    'PreservationEnded',
    'The preservation of the machine ended: a user removed the annotation',
  ],
])('an event reports a preservation: %s', (_what, given, reason, message) => {
  const { events } = settle(see(given));
  expect(events).toEqual([{ type: 'Normal', reason, message }]);
});

test('a machine that recovers and fails again during its preservation is drained again [O-31]', () => {
  const { node: n } = settle(see({ own: 'now', expiry: HOUR, condition: { status: 'True', message: DRAINED } }));
  expect(conditionOf(n)).toMatchObject({ status: 'True', message: expect.stringMatching(/^Machine preserved until/) });
  const again = see({ own: 'now', phase: 'Failed', expiry: HOUR, condition: conditionOf(n) ?? {} });
  expect(wantsPreservationDrain(again.machine, again.node)).toBe(true);
  expect(settle(see({ own: 'now', expiry: HOUR, condition: conditionOf(n) ?? {} })).steps).not.toContain(
    'setNodeCondition',
  );
});

test.each([
  ['Preserved by MCM.', 'now', 'Preserved by user.'],
  ['Preserved by user.', 'auto-preserved', 'Preserved by MCM.'],
])('a preservation is reported again when its source changes: %s [O-39]', (reason, own, now) => {
  const condition = { status: 'True', message: DRAINED, reason } as const;
  const { node: n, steps } = settle(see({ own, phase: 'Failed', expiry: HOUR, condition, tainted: true }));
  expect(conditionOf(n)).toMatchObject({ status: 'True', message: DRAINED, reason: now });
  expect(steps.filter((step) => step === 'setNodeCondition')).toHaveLength(1);
});
