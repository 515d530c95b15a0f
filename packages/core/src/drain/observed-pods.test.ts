import { Annotations, InPlaceUpdateReasons, Labels, NodeConditions } from '@mcm/api';
import type { Node, Pod, PodDisruptionBudget } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { at, condition, hc, machine, NOON, node } from '../machine/testing.ts';
import type { DrainRule } from '../settings/drain-rules.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { NO_DRAIN_MEMORY } from './model/observation.ts';
import { type ObserveDrainOptions, observeDrain } from './observe.ts';
import { fixedCaches } from './testing.ts';

interface PodChange {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

const podOf = (name: string, { metadata = {}, spec = {}, status }: PodChange = {}): Pod =>
  partial<Pod>({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...metadata },
    spec: { nodeName: 'fakeNode-0', containers: [], ...spec },
    ...(status ? { status } : {}),
  });

interface Other {
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly objects?: Readonly<Record<string, object>>;
  readonly proven?: boolean;
}

function observed(found: readonly Pod[], change: Partial<ObserveDrainOptions> = {}, other: Other = {}) {
  const { budgets = [], objects = {}, proven = true } = other;
  const kind = (resource: string, listed: readonly object[] = []) => ({
    resource,
    refused: undefined,
    synced: true,
    proven,
    store: { byIndex: () => listed, get: (key: string) => objects[key] },
  });
  const caches = fixedCaches({
    pods: kind('pods', found),
    budgets: kind('poddisruptionbudgets', budgets),
    claims: kind('persistentvolumeclaims'),
    volumes: kind('persistentvolumes'),
    attachments: kind('volumeattachments'),
    nodes: kind('nodes'),
  });
  const own = change.machine ?? machine({ metadata: { deletionTimestamp: at(0) } });
  return observeDrain({
    machine: own,
    settings: settingsOf(own, MACHINE_DEFAULTS),
    node: node(),
    caches,
    memory: NO_DRAIN_MEMORY,
    volumeIdOf: () => undefined,
    volumeWindow: 1,
    now: NOON,
    ...change,
  });
}

const ownedBy = (kind: string) => ({
  ownerReferences: [{ apiVersion: 'v1', kind, name: 'o', uid: 'o', controller: true }],
});
const conditions = (...list: readonly [type: string, status: string][]) => ({
  conditions: list.map(([type, status]) => ({ type, status })),
});

test.each<[what: string, change: PodChange, seen: object]>([
  [
    'nothing set',
    {},
    { phase: '', ready: false, graceMs: 30_000, priority: 0, mirror: false, localStorage: false, hasClaims: false },
  ],
  ['its grace period', { spec: { terminationGracePeriodSeconds: 90 } }, { graceMs: 90_000 }],
  ['no grace at all', { spec: { terminationGracePeriodSeconds: 0 } }, { graceMs: 0 }],
  ['its priority', { spec: { priority: 1000 } }, { priority: 1000 }],
  ['a static pod', { metadata: { annotations: { [Annotations.MirrorPod]: 'hash' } } }, { mirror: true }],
  ['an owner', { metadata: ownedBy('DaemonSet') }, { ownerKind: 'DaemonSet' }],
  [
    'local storage among its volumes',
    {
      spec: {
        volumes: [
          { name: 'a', configMap: {} },
          { name: 'b', emptyDir: {} },
        ],
      },
    },
    { localStorage: true, hasClaims: false },
  ],
  [
    'a claim among its volumes',
    {
      spec: {
        volumes: [
          { name: 'a', configMap: {} },
          { name: 'b', persistentVolumeClaim: { claimName: 'c' } },
        ],
      },
    },
    { localStorage: false, hasClaims: true },
  ],
  ['a generic ephemeral volume', { spec: { volumes: [{ name: 'a', ephemeral: {} }] } }, { hasClaims: true }],
  ['its phase', { status: { phase: 'Succeeded' } }, { phase: 'Succeeded', ready: false }],
  [
    'ready, with another condition that is not met',
    { status: conditions(['PodReadyToStartContainers', 'False'], ['Ready', 'True']) },
    { ready: true },
  ],
  [
    'not ready, with another condition that is met',
    { status: conditions(['PodScheduled', 'True'], ['Ready', 'False']) },
    { ready: false },
  ],
])('a drain reads of a pod: %s', (_what, change, seen) => {
  expect(observed([podOf('a', change)]).pods).toMatchObject([seen]);
});

test('a pod without an owner, or without a deletion, has no such fields', () => {
  const [pod] = observed([podOf('a')]).pods;
  expect(pod?.ownerKind).toBeUndefined();
  expect(pod?.dueAt).toBeUndefined();
});

const drainTimeout = MACHINE_DEFAULTS.drainTimeoutMs;
const selectedAt = (minutes: number) => ({
  ...condition(NodeConditions.InPlaceUpdate, 'True', at(minutes)),
  reason: InPlaceUpdateReasons.SelectedForUpdate,
});
const forcedAfter = (change: Partial<ObserveDrainOptions>) =>
  (observed([], change).forceAt.getTime() - NOON.getTime() - drainTimeout) / 60_000;
const running = (minutes: number, metadata = {}) =>
  machine({ metadata, status: { currentStatus: { phase: 'Running', lastUpdateTime: at(minutes) } } });

test('the drain timeout begins with the deletion, in any state of the machine and its node', () => {
  const selected = node({ conditions: [...hc('True'), selectedAt(5)] });
  expect(forcedAfter({ node: selected })).toBe(0);
});

test('the drain timeout of a node with an in-place update begins with its selection', () => {
  const unrelated = { ...selectedAt(9), type: 'Another' };
  const ready = { ...selectedAt(8), reason: InPlaceUpdateReasons.ReadyForUpdate };
  const selected = node({ conditions: [...hc('True'), unrelated, selectedAt(5)] });
  expect(forcedAfter({ machine: running(3), node: selected })).toBe(5);
  expect(forcedAfter({ machine: running(3), node: node({ conditions: [...hc('True'), unrelated, ready] }) })).toBe(3);
});

test('a drain without a deletion is forced by its own label, not by that of a deletion', () => {
  const forced = (labels: Record<string, string>) => observed([], { machine: running(0, { labels }) }).forced;
  expect(forced({ [Labels.ForceDrain]: 'True' })).toBe(true);
  expect(forced({ [Labels.ForceDeletion]: 'True' })).toBe(false);
  expect(observed([], { machine: running(0) }).forced).toBe(false);
});

test('the drain shows an error in the policy of a machine', () => {
  const choice = { policy: 'Hold', problem: 'it says "hold"' } as const;
  expect(observed([], { choice })).toMatchObject({ policy: 'Hold', policyProblem: choice.problem });
  expect(observed([], { choice: { policy: 'Hold', problem: '' } }).policyProblem).toBeUndefined();
});

const rules: readonly DrainRule[] = [{ name: 'jobs', behavior: 'WaitCompleted', order: 1, matches: () => true }];
const evictUntil = observed([]).evictUntil.getTime();
const interrupted = (short: boolean, forceAt = new Date(evictUntil)) => ({ drainAt: NOON, forceAt, short });

test.each<[what: string, change: Partial<ObserveDrainOptions>, waits: boolean]>([
  ['before the end of the evictions', { now: new Date(evictUntil - 1) }, true],
  ['at the end of the evictions', { now: new Date(evictUntil) }, false],
  [
    'at the end of the evictions, with the policy Force',
    { now: new Date(evictUntil), choice: { policy: 'Force' } },
    false,
  ],
  ['at the end of the evictions, with another policy', { now: new Date(evictUntil), choice: { policy: 'Hold' } }, true],
  ['during a short interruption', { interrupted: interrupted(true) }, false],
  ['during a long interruption', { interrupted: interrupted(false) }, true],
])('a rule delays a pod only if there is time: %s', (_what, change, waits) => {
  const rule = observed([podOf('a')], { rules, ...change }).pods[0]?.rule;
  expect(rule?.behavior).toBe(waits ? 'WaitCompleted' : undefined);
});

test('an interruption forces the drain earlier, and never later than its timeout', () => {
  const { forceAt: timeout } = observed([]);
  const forced = (change: Partial<ObserveDrainOptions>) => {
    const { forceAt, interrupted: byEnd, urgent } = observed([], change);
    return [forceAt, byEnd, urgent];
  };
  const earlier = new Date(timeout.getTime() - 1);
  expect(forced({ interrupted: interrupted(true, earlier) })).toEqual([earlier, true, true]);
  expect(forced({ interrupted: interrupted(false, earlier) })).toEqual([earlier, true, undefined]);
  expect(forced({ interrupted: interrupted(false, timeout) })).toEqual([timeout, undefined, undefined]);
});

test('the drain shows that the list of pods may be older than the server', () => {
  expect([true, false].map((proven) => observed([], {}, { proven }).podsUnproven)).toEqual([undefined, true]);
});

test('the drain knows the room for volumes of a limited driver on other nodes', () => {
  const claim = (claimName: string) => ({ name: claimName, persistentVolumeClaim: { claimName } });
  const pods = [podOf('a', { spec: { volumes: ['one', 'two', 'three'].map(claim) } })];
  const objects = {
    'default/one': { spec: { volumeName: 'pv-1' } },
    'default/two': { spec: { volumeName: 'pv-2' } },
    'default/three': { spec: { volumeName: 'pv-3' } },
    'pv-1': { spec: { csi: { driver: 'limited' } } },
    'pv-2': { spec: { csi: { driver: 'unlimited' } } },
    'pv-3': { spec: {} },
  };
  const limits = { roomOnOtherNodes: (_: Node, driver: string) => (driver === 'limited' ? 3 : undefined) };
  const { attach } = observed(pods, { limits, volumeIdOf: () => 'vol' }, { objects });
  expect(attach).toEqual({
    room: new Map([['limited', 3]]),
    driverOf: new Map([
      ['pv-1', 'limited'],
      ['pv-2', 'unlimited'],
    ]),
  });
});

test('a budget that shares only one label with a pod does not select it', () => {
  const selecting = (matchLabels: object) =>
    ({ metadata: { name: 'web', namespace: 'default' }, spec: { selector: { matchLabels } } }) as PodDisruptionBudget;
  const budgetsOf = (labels: object) =>
    observed(
      [podOf('a', { metadata: { labels: { app: 'web' } } })],
      {},
      { budgets: [selecting(labels)] },
    ).pods[0]?.budgets.some(({ key }) => key === 'default/web');
  expect([budgetsOf({ app: 'web' }), budgetsOf({ app: 'web', tier: 'x' })]).toEqual([true, false]);
});

test('an unresponsive node forces the drain earlier, and never later than its timeout', () => {
  const unreachableFor = (minutes: number) => node({ conditions: hc('Unknown', at(-minutes)) });
  const soon = observed([], { node: unreachableFor(0), now: NOON });
  expect([soon.forceAt < new Date(NOON.getTime() + drainTimeout), soon.unresponsive]).toEqual([true, true]);
  const later = observed([], {
    node: node({ conditions: hc('Unknown', at(drainTimeout / 60_000)) }),
  });
  expect([later.forceAt.getTime() - NOON.getTime(), later.unresponsive]).toEqual([drainTimeout, undefined]);
});

test('a Node forces no drain while its state may be outdated', () => {
  const unreachable = node({ conditions: hc('Unknown', at(-10)) });
  const until = (healthDoubtedUntil: Date) => observed([], { node: unreachable, healthDoubtedUntil });
  const during = until(new Date(at(1)));
  expect([during.forceAt, during.unresponsive]).toEqual([new Date(at(1)), true]);
  const after = until(new Date(at(-6)));
  expect([after.forceAt, after.unresponsive]).toEqual([new Date(at(-5)), true]);
  const long = until(new Date(at(drainTimeout / 60_000 + 1)));
  expect([long.forceAt, long.unresponsive]).toEqual([new Date(at(drainTimeout / 60_000)), undefined]);
});

test.each<[what: string, status: Node['status']]>([
  ['no status', undefined],
  ['no conditions', {}],
])('a node that has %s is drained in the time of the machine', (_what, status) => {
  const { status: _, ...bare } = node();
  const silent = { ...bare, ...(status ? { status } : {}) } as Node;
  expect(forcedAfter({ node: silent, machine: running(3) })).toBe(3);
  expect(observed([], { node: silent }).unseen).toBeUndefined();
});
