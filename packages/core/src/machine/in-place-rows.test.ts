import { Labels, type Machine, NodeConditions } from '@mcm/api';
import type { Change, Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import type { Caches } from '../cluster/caches.ts';
import { mirrored, unresponsiveAt } from '../settings/conditions.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { after } from '../values/timestamps.ts';
import { planInPlace } from './in-place/in-place.ts';
import { MachineMemories } from './model/memory.ts';
import type { MachineObservation } from './model/observation.ts';
import { nextStep } from './next-step.ts';
import { emptyDrain } from './test-dying.ts';
import { at, condition, hc, machine, NOON, node } from './testing.ts';
import { Wakes } from './wakes.ts';

const { CandidateForUpdate, SelectedForUpdate, UpdateResult } = Labels;

const ours = machine({
  metadata: { labels: { node: 'fakeNode-0' } },
  status: { currentStatus: { phase: 'Running', lastUpdateTime: at(-10) } },
});

const labelled = (labels: Record<string, string>, reason?: string): Node =>
  node({
    metadata: { labels },
    spec: { unschedulable: true },
    conditions: [...hc('True'), ...(reason ? [{ ...condition(NodeConditions.InPlaceUpdate, 'True'), reason }] : [])],
  });

const seen = (n: Node | undefined, change: Partial<MachineObservation> = {}): MachineObservation => ({
  machine: ours,
  settings: settingsOf(ours, MACHINE_DEFAULTS),
  inputs: '',
  asksForToken: false,
  hasTarget: true,
  frozen: false,
  calls: {},
  driver: { initialize: false, status: true },
  replacementsInProgress: 0,
  ...(n ? { node: n, drain: emptyDrain } : {}),
  ...change,
});

const plan = (n: Node | undefined, change: Partial<MachineObservation> = {}) => planInPlace(seen(n, change), NOON);
const reasons = (n: Node | undefined, change: Partial<MachineObservation> = {}): (string | undefined)[] =>
  (plan(n, change)?.actions ?? []).flatMap((a) => (a.do === 'setNodeCondition' ? [a.condition.reason] : []));

const chosen = { [CandidateForUpdate]: 'true', [SelectedForUpdate]: 'true' };

describe('the in-place update of a node', () => {
  test('without a node nothing happens [S-I8, S-I16]', () => expect(plan(undefined)).toBeUndefined());
  test('without a condition nothing happens [S-I16]', () => expect(plan(labelled({}))).toBeUndefined());
  test('if the label names a missing node, nothing is drained, and no update phase is written [S-I20, O-55]', () => {
    const lost: Machine = {
      ...ours,
      status: {
        ...ours.status,
        conditions: mirrored([
          ...hc('True'),
          { ...condition(NodeConditions.InPlaceUpdate, 'True'), reason: 'SelectedForUpdate' },
        ]),
      },
    };
    const o = seen(undefined, { machine: lost });
    expect(planInPlace(o, NOON)).toBeUndefined();
    expect(nextStep(o, NOON).actions).toMatchObject([
      {
        do: 'writeStatus',
        status: {
          currentStatus: { phase: 'Unknown' },
          lastOperation: { description: expect.stringMatching(/^Node object went missing/), type: 'HealthCheck' },
        },
      },
    ]);
    const there = seen(labelled(chosen, 'SelectedForUpdate'), { machine: lost });
    expect(nextStep(there, NOON).actions.map(({ do: verb }) => verb)).not.toEqual(['writeStatus']);
  });

  test('a node of another machine does not change', () => {
    const other = { ...ours, spec: { ...ours.spec, providerID: 'local:///a/mine' } };
    const foreign = { ...labelled(chosen), spec: { providerID: 'local:///a/other' } };
    expect(plan(foreign, { machine: other })).toBeUndefined();
  });

  test('labels, taints and records of a node of another VM do not change', () => {
    const spec = { providerID: 'local:///a/mine' };
    const see = (providerID: string) =>
      nextStep(
        partial<MachineObservation>({
          machine: { ...ours, spec: { ...ours.spec, ...spec } },
          node: node({ spec: { providerID } }),
          settings: settingsOf(ours, MACHINE_DEFAULTS),
          hasTarget: true,
          frozen: false,
          calls: {},
          driver: { initialize: false, status: true },
          replacementsInProgress: 0,
        }),
        NOON,
      ).actions.map((action) => action.do);
    expect(see('local:///a/mine')).toContain('syncNode');
    expect(see('local:///a/other')).not.toContain('syncNode');
  });

  test('a selected node without pods gets the phase and DrainSuccessful [S-I17]', () => {
    const due = plan(labelled(chosen, 'SelectedForUpdate'));
    const description = 'Machine machine-0 is undergoing an in-place update';
    expect(due?.actions[0]).toMatchObject({
      do: 'writeStatus',
      status: { currentStatus: { phase: 'InPlaceUpdating' }, lastOperation: { description, type: 'InPlaceUpdate' } },
    });
    expect(due?.actions[1]).toMatchObject({
      condition: { reason: 'DrainSuccessful', message: 'Node draining successful' },
    });
  });

  test('the agent may update a drained node [S-I18]', () => {
    expect(reasons(labelled(chosen, 'DrainSuccessful'))).toEqual(['ReadyForUpdate']);
  });

  test('a machine whose node is ready for the update waits for the agent [S-I19]', () => {
    expect(plan(labelled(chosen, 'ReadyForUpdate'))?.actions ?? []).toEqual([]);
  });
});

describe('a change of the labels of a node', () => {
  const store = { byIndex: (): readonly Machine[] => [ours] };
  const wakes = new Wakes(partial<Caches>({ machines: { store } }), new MachineMemories(), 'test');
  const wakesFor = (old: Record<string, string> | undefined, labels: Record<string, string> | undefined): boolean => {
    const of = (given: Record<string, string> | undefined): Node => node(given ? { metadata: { labels: given } } : {});
    const change = { type: 'updated', key: 'fakeNode-0', old: of(old), object: of(labels) } as Change<Node>;
    return wakes.node(change).length > 0;
  };
  const other = { zone: 'a' };
  test.each<
    [row: string, old: Record<string, string> | undefined, labels: Record<string, string> | undefined, woken: boolean]
  >([
    ['S-I1 no label before and after', undefined, undefined, false],
    ['S-I2 an unrelated label, unchanged', other, other, false],
    ['S-I3 a candidate', other, { ...other, [CandidateForUpdate]: 'true' }, true],
    ['S-I4 selected', other, { ...other, [SelectedForUpdate]: 'true' }, true],
    ['S-I5 a result', other, { ...other, [UpdateResult]: 'successful' }, true],
    ['S-I6 another result', { [UpdateResult]: 'failed' }, { [UpdateResult]: 'successful' }, true],
    ['S-I7 the same result', { [UpdateResult]: 'failed' }, { [UpdateResult]: 'failed' }, false],
  ])('%s', (_row, old, labels, woken) => expect(wakesFor(old, labels)).toBe(woken));
});

describe('how long a node is unresponsive before its pods are forced', () => {
  const MINUTES_5 = { unresponsiveNodeMs: 300_000, readOnlyNodeMs: 300_000 };
  const forcedAtNoon = (...conditions: ReturnType<typeof condition>[]): boolean => {
    const m = machine({ status: { conditions: conditions as NonNullable<Machine['status']>['conditions'] } as never });
    const instant = unresponsiveAt(m, undefined, MINUTES_5);
    return instant !== undefined && instant <= NOON;
  };
  test('a node that is not ready and read-only for 6 min is unresponsive [S-D8]', () => {
    expect(forcedAtNoon(condition('ReadonlyFilesystem', 'True', at(-6)), condition('Ready', 'False', at(-6)))).toBe(
      true,
    );
  });
  test('a node that is read-only for 2 min is responsive [S-D9]', () => {
    expect(forcedAtNoon(condition('ReadonlyFilesystem', 'True', at(-2)), condition('Ready', 'True', at(-6)))).toBe(
      false,
    );
  });
  test('a node that is not read-only for 6 min is responsive [S-D10]', () => {
    expect(forcedAtNoon(condition('ReadonlyFilesystem', 'False', at(-6)), condition('Ready', 'True', at(-6)))).toBe(
      false,
    );
  });
  test('a read-only file system has its own threshold [R47]', () => {
    const since = (type: string, status: 'True' | 'False') => ({ type, status, lastTransitionTime: at(-6) });
    const readOnly = machine({ status: { conditions: [since('Ready', 'True'), since('ReadonlyFilesystem', 'True')] } });
    const limits = { unresponsiveNodeMs: 60_000, readOnlyNodeMs: 1_800_000 };
    expect(unresponsiveAt(readOnly, undefined, limits)).toEqual(new Date(at(24)));
    const both = machine({ status: { conditions: [since('Ready', 'False'), since('ReadonlyFilesystem', 'True')] } });
    expect(unresponsiveAt(both, undefined, limits)).toEqual(new Date(at(-5)));
  });
  test('a flag sets the threshold of unresponsive nodes [R47]', () => {
    const m = machine({ status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at(-6) }] } });
    expect(unresponsiveAt(m, undefined, { unresponsiveNodeMs: 600_000, readOnlyNodeMs: 0 })).toEqual(new Date(at(4)));
  });
  test('the Node decides, not the copied conditions from before the deletion', () => {
    const mirrored = (status: 'True' | 'Unknown'): Machine =>
      machine({ status: { conditions: [{ type: 'Ready', status, lastTransitionTime: at(-6) }] } });
    const ready = node({ conditions: [condition('Ready', 'True', at(-1))] });
    const unreachable = node({ conditions: [condition('Ready', 'Unknown', at(-6))] });
    expect(unresponsiveAt(mirrored('Unknown'), ready, MINUTES_5)).toBeUndefined();
    expect(unresponsiveAt(mirrored('True'), unreachable, MINUTES_5)).toEqual(new Date(at(-1)));
    expect(unresponsiveAt(mirrored('Unknown'), node({ conditions: [] }), MINUTES_5)).toEqual(new Date(at(-1)));
  });
});

test.each([
  ['an hour ago, 30 min', -60, 30, true],
  ['an hour ago, 90 min', -60, 90, false],
  ['now, 5 min', 0, 5, false],
])('S-X1 a time is over: %s', (_, stamp, minutes, over) => {
  expect(NOON > after(at(stamp), minutes * 60_000)).toBe(over);
});
