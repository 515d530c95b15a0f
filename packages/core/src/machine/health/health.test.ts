import type { Machine, MachinePhase, MachineStatus } from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { countReplacements, replacementGroup, replacementLimit } from '../../disruption/replacements.ts';
import { mirrored } from '../../settings/conditions.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import type { MachineObservation } from '../model/observation.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';
import { planHealth } from './health.ts';

const observe = (m: Machine, n: Node | undefined, change: Partial<MachineObservation> = {}): MachineObservation => ({
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
  ...change,
});

interface Given {
  readonly phase: MachinePhase;
  readonly since?: number;
  readonly conditions?: ReturnType<typeof hc>;
  readonly operation?: MachineStatus['lastOperation'];
  readonly expiry?: string;
  readonly spec?: Partial<Machine['spec']>;
}

const given = ({ phase, since = 0, conditions = hc('True'), operation, expiry, spec }: Given): Machine =>
  machine({
    metadata: { labels: { node: 'fakeNode-0', name: 'd1' } },
    spec: { providerID: 'fakeID-0', ...spec },
    status: {
      conditions: mirrored(conditions),
      currentStatus: { phase, lastUpdateTime: at(since), ...(expiry ? { preserveExpiryTime: expiry } : {}) },
      lastOperation: operation ?? { type: 'Create', state: 'Successful', description: '', lastUpdateTime: at(since) },
    },
  });

const sick = hc('False');
const readonly = hc('True').map((c) => (c.type === 'ReadonlyFilesystem' ? { ...c, status: 'True' as const } : c));
const failed = { 'node.machine.sapcloud.io/update-result': 'failed' };
const candidate = { 'node.machine.sapcloud.io/candidate-for-update': 'true' };
const successful = { 'node.machine.sapcloud.io/update-result': 'successful' };
const critical = [{ key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' }];
const creating = { type: 'Create', state: 'Processing', description: 'Creating machine on cloud provider' } as const;

test.each<[row: string, machine: Machine, node: Node | undefined, phase: MachinePhase | undefined]>([
  ['S-R4 Unknown and healthy: Running', given({ phase: 'Unknown', conditions: sick }), node(), 'Running'],
  ['S-R5 Running and not Ready: Unknown', given({ phase: 'Running' }), node({ conditions: sick }), 'Unknown'],
  [
    'S-R6 Running with a read-only file system: Unknown',
    given({ phase: 'Running' }),
    node({ conditions: readonly }),
    'Unknown',
  ],
  ['S-R7 Running and its node missing: Unknown', given({ phase: 'Running' }), undefined, 'Unknown'],
  [
    'O-54 InPlaceUpdateSuccessful and its node missing: Unknown',
    given({ phase: 'InPlaceUpdateSuccessful' }),
    undefined,
    'Unknown',
  ],
  [
    'O-64 Running without conditions and its node missing: Unknown',
    given({ phase: 'Running', conditions: [] }),
    undefined,
    'Unknown',
  ],
  [
    'S-R8 Unknown for 15 min: Failed',
    given({ phase: 'Unknown', since: -15, conditions: sick }),
    node({ conditions: sick }),
    'Failed',
  ],
  [
    'S-R9 Unknown for 15 min, node missing: Failed',
    given({ phase: 'Unknown', since: -15, conditions: sick }),
    undefined,
    'Failed',
  ],
  [
    'S-R11 the same with its health timeout disabled: nothing',
    given({ phase: 'Unknown', since: -15, conditions: sick, spec: { disableHealthTimeout: true } }),
    undefined,
    undefined,
  ],
  [
    'S-R12 InPlaceUpdating for 25 min: InPlaceUpdateFailed',
    given({ phase: 'InPlaceUpdating', since: -25, conditions: sick }),
    node({ conditions: sick }),
    'InPlaceUpdateFailed',
  ],
  [
    'S-R14 the update failed by label: InPlaceUpdateFailed',
    given({ phase: 'InPlaceUpdating', conditions: hc('True') }),
    node({ metadata: { labels: failed } }),
    'InPlaceUpdateFailed',
  ],
  [
    'the update succeeded by label: InPlaceUpdateSuccessful',
    given({ phase: 'InPlaceUpdating' }),
    node({ metadata: { labels: successful } }),
    'InPlaceUpdateSuccessful',
  ],
  ['the update was withdrawn: Running', given({ phase: 'InPlaceUpdating' }), node(), 'Running'],
  [
    'the update was withdrawn, and the node is a candidate of the next update: Running',
    given({ phase: 'InPlaceUpdating' }),
    node({ metadata: { labels: candidate } }),
    'Running',
  ],
  [
    'a user removed the selection of a drained node: stays',
    given({ phase: 'InPlaceUpdating' }),
    node({ metadata: { labels: candidate }, spec: { unschedulable: true } }),
    undefined,
  ],
  [
    'the node is still selected: stays',
    given({ phase: 'InPlaceUpdating' }),
    node({ metadata: { labels: { 'node.machine.sapcloud.io/selected-for-update': 'true' } } }),
    undefined,
  ],
  [
    'S-R15 InPlaceUpdateFailed for 15 min: Failed',
    given({ phase: 'InPlaceUpdateFailed', since: -15, conditions: sick }),
    node({ conditions: sick }),
    'Failed',
  ],
  [
    'S-R16 the same with its health timeout disabled: nothing',
    given({ phase: 'InPlaceUpdateFailed', since: -15, conditions: sick, spec: { disableHealthTimeout: true } }),
    node({ conditions: sick }),
    undefined,
  ],
  [
    'S-R18 Pending and healthy: Running',
    given({ phase: 'Pending', conditions: [], operation: creating }),
    node(),
    'Running',
  ],
  [
    'S-R17 Pending and healthy, critical components missing: stays',
    given({ phase: 'Pending', conditions: hc('True'), operation: creating }),
    node({ spec: { taints: critical } }),
    undefined,
  ],
  [
    'Pending and healthy, a readiness taint on its Node: stays',
    given({ phase: 'Pending', conditions: hc('True'), operation: creating }),
    node({ spec: { taints: [{ key: 'readiness.k8s.io/network', effect: 'NoExecute' }] } }),
    undefined,
  ],
  ['S-R21 Failed and healthy: Running', given({ phase: 'Failed', expiry: at(60) }), node(), 'Running'],
  [
    'incident 17: Pending, a node of that name from another VM: stays',
    given({ phase: 'Pending', conditions: hc('True'), operation: creating, spec: { providerID: 'aws:///r/i-2' } }),
    node({ spec: { providerID: 'aws:///r/i-1' } }),
    undefined,
  ],
  [
    'O-54 updated in place and then not Ready: Unknown',
    given({ phase: 'InPlaceUpdateSuccessful' }),
    node({ conditions: sick }),
    'Unknown',
  ],
  ['CrashLoopBackOff whose node is healthy: Running', given({ phase: 'CrashLoopBackOff' }), node(), 'Running'],
])('%s', (_row, m, n, phase) => {
  const plan = planHealth(observe(m, n), NOON);
  expect(plan.status?.currentStatus?.phase).toBe(phase);
  if (phase !== 'InPlaceUpdateFailed' && phase) {
    expect(plan.status?.currentStatus?.preserveExpiryTime).toBe(m.status?.currentStatus?.preserveExpiryTime);
  }
  if (plan.status) expect(plan.status.lastOperation?.description).not.toBe('');
});

test('a machine whose failed update the deployment keeps does not become Failed', () => {
  const one = given({ phase: 'InPlaceUpdateFailed', since: -60 * 24 });
  const made = node();
  const plain = { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, ...failed } } };
  const annotations = { 'rollout.machine.sapcloud.io/on-cannot-update-in-place': 'Stop' };
  const kept = { ...plain, metadata: { ...plain.metadata, annotations } };
  expect(planHealth(observe(one, plain), NOON).status?.currentStatus?.phase).toBe('Failed');
  expect(planHealth(observe(one, kept), NOON)).toEqual({
    because: 'the in-place update failed, and the MachineDeployment keeps the machine',
  });
  expect(planHealth(observe(one, undefined), NOON).status?.currentStatus?.phase).toBe('Failed');
});

test('a late timeout is evaluated with the present conditions: they are copied first [S-R22]', () => {
  const m = given({ phase: 'Unknown', since: -15, conditions: hc('True') });
  const plan = planHealth(observe(m, node({ conditions: sick })), NOON);
  expect(plan.status?.currentStatus?.phase).toBe('Unknown');
  expect(plan.status?.conditions?.find((c) => c.type === 'Ready')?.status).toBe('False');
});

test('a join reports its duration; a recovery does not', () => {
  const m = given({ phase: 'Pending', operation: creating });
  const joined = planHealth(observe(m, node()), new Date(NOON.getTime() + 61_250));
  expect(joined.joined).toBe(true);
  expect(joined.status?.lastOperation).toMatchObject({
    description: 'Machine machine-0 successfully joined the cluster in 1m1.25s',
    type: 'Create',
    state: 'Successful',
  });
  expect(joined.because).toBe('Machine machine-0 successfully joined the cluster');
  const back = planHealth(observe(given({ phase: 'Unknown', conditions: sick }), node()), NOON);
  expect(back.joined).toBe(false);
  expect(back.status?.lastOperation).toMatchObject({
    description: 'Machine machine-0 successfully re-joined the cluster',
    type: 'HealthCheck',
  });
});

test('a Pending machine fails exactly at its creation timeout', () => {
  const m = given({ phase: 'Pending', operation: creating });
  const deadline = new Date(NOON.getTime() + 20 * 60_000);
  expect(planHealth(observe(m, undefined), deadline)).toMatchObject({ deadline });
  const plan = planHealth(observe(m, undefined), new Date(deadline.getTime() + 1));
  expect(plan.status?.lastOperation).toMatchObject({
    description: 'Machine machine-0 failed to join the cluster in 20m0s minutes.',
    state: 'Failed',
    type: 'Create',
  });
});

test('a node that registers NotReady causes no separate write of a Pending machine for half a minute', () => {
  const m = given({ phase: 'Pending', conditions: [], operation: creating });
  const registered = node({ conditions: sick, metadata: { creationTimestamp: at(1) } });
  const early = planHealth(observe(m, registered), new Date(at(1)));
  expect(early.status).toBeUndefined();
  expect(early.deadline).toEqual(new Date(at(1.5)));
  expect(planHealth(observe(m, registered), new Date(at(1.5))).status?.conditions).toHaveLength(5);
});

test('without a change there is no write', () => {
  expect(planHealth(observe(given({ phase: 'Running' }), node()), NOON)).toEqual({ because: 'nothing to check' });
});

const other = (phase: MachinePhase | undefined, name = 'd1', expiry?: string): Machine =>
  machine({
    name: 'machine-1',
    metadata: { labels: name ? { name } : {} },
    status: { currentStatus: { ...(phase ? { phase } : {}), ...(expiry ? { preserveExpiryTime: expiry } : {}) } },
  });

const ownedBy = (uid: string, m: Machine): Machine => ({
  ...m,
  metadata: {
    ...m.metadata,
    ownerReferences: [
      { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineSet', name: uid, uid, controller: true },
    ],
  },
});

test.each<[row: string, second: Machine, failed: boolean, label?: string]>([
  ['S-P1 Unknown, other deployment', other('Unknown', 'd2'), true],
  ['S-P2 Failed, other deployment', other('Failed', 'd2'), true],
  ['S-P3 Unknown, same set, neither with the label', other('Unknown', ''), true, ''],
  ['S-P4 Failed', other('Failed'), false],
  ['S-P5 Terminating', other('Terminating'), false],
  ['S-P6 no phase', other(undefined), false],
  ['S-P7 Pending', other('Pending'), false],
  ['S-P8 CrashLoopBackOff', other('CrashLoopBackOff'), false],
  ['S-P9 Pending in another set of the deployment', ownedBy('set-2', other('Pending')), false],
  ['S-P11 Failed and preserved', other('Failed', 'd1', at(60)), true],
  ['S-P12 Unknown', other('Unknown'), true],
])('health check of a machine while another one is of %s', (_row, second, marked, label = 'd1') => {
  const labelled = given({ phase: 'Unknown', since: -15, conditions: sick });
  const { name: _, ...unlabelled } = labelled.metadata.labels ?? {};
  const labels = label ? { ...unlabelled, name: label } : unlabelled;
  const target = ownedBy('set-1', { ...labelled, metadata: { ...labelled.metadata, labels } });
  const beside = second.metadata.ownerReferences ? second : ownedBy('set-1', second);
  const group = [target, beside].filter((m) => replacementGroup(m) === replacementGroup(target));
  const plan = planHealth(
    observe(target, node({ conditions: sick }), { replacementsInProgress: countReplacements(group, { making: true }) }),
    NOON,
  );
  expect(plan.status?.currentStatus?.phase).toBe(marked ? 'Failed' : 'Unknown');
  if (!marked)
    expect(plan.because).toBe(`machine "machine-0" couldn't be marked FAILED, other machines are getting replaced`);
});

test('a machine that waits for other replacements reports it once and keeps its former description', () => {
  const lastOperation = { description: 'is unhealthy: no heartbeat', lastUpdateTime: at(-15) };
  const unreachable = given({ phase: 'Unknown', since: -15, conditions: sick });
  const target: Machine = { ...unreachable, status: { ...unreachable.status, lastOperation } };
  const held = (m: Machine) => planHealth(observe(m, node({ conditions: sick }), { replacementsInProgress: 1 }), NOON);
  const { status } = held(target);
  expect(status?.lastOperation?.description).toBe(
    'Waiting: other machines are getting replaced (--max-unhealthy-replacements). is unhealthy: no heartbeat',
  );
  expect(status?.currentStatus).toEqual(target.status?.currentStatus);
  if (!status) throw new Error('it said nothing');
  expect(held({ ...target, status }).status).toBeUndefined();
});

test('machines without the label are limited by their owner [O-21]', () => {
  const owned = (name: string): Machine =>
    machine({
      name,
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'MachineSet', name: 's', uid: 'set-1', controller: true }],
      },
    });
  expect(replacementGroup(owned('a'))).toBe(replacementGroup(owned('b')));
});

test.each([
  [1, 10, 1],
  [3, 10, 3],
  ['25%', 10, 2],
  ['25%', 3, 1],
  [0, 10, 1],
])('--max-unhealthy-replacements=%s of %i machines allows %i replacements at once', (limit, size, allowed) => {
  expect(replacementLimit(limit, size)).toBe(allowed);
});

test('a machine in creation counts for a limited time, a terminating one does not count [#14]', () => {
  expect(countReplacements([other('Pending'), other(undefined)], { making: false })).toBe(0);
  expect(countReplacements([other('Terminating'), other('Failed')], { making: false })).toBe(2);
});

test('two may be replaced at once if the limit allows it', () => {
  const target = given({ phase: 'Unknown', since: -15, conditions: sick });
  const beside = (replacementsAllowed: number) =>
    planHealth(observe(target, node({ conditions: sick }), { replacementsInProgress: 1, replacementsAllowed }), NOON);
  expect(beside(2).status?.currentStatus?.phase).toBe('Failed');
  expect(beside(1)).toMatchObject({ deadline: new Date(at(5)), status: { currentStatus: { phase: 'Unknown' } } });
});

test.each<[what: string, machine: Machine, node: Node | undefined, reason: string, message: string]>([
  [
    'a node whose kubelet does not report',
    given({ phase: 'Running' }),
    node({ conditions: sick }),
    'NodeUnhealthy',
    'The machine is unhealthy: Ready is False. The machine becomes Failed after 10m0s without recovery',
  ],
  [
    'a node that may stay unhealthy',
    given({ phase: 'Running', spec: { disableHealthTimeout: true } }),
    node({ conditions: readonly }),
    'NodeUnhealthy',
    'The machine is unhealthy: ReadonlyFilesystem is True. The machine does not become Failed, because spec.disableHealthTimeout is true',
  ],
  [
    'a node that was deleted',
    given({ phase: 'Running' }),
    undefined,
    'NodeMissing',
    'Node fakeNode-0 went missing. The machine becomes Failed after 10m0s without recovery',
  ],
  [
    'unhealthy for too long',
    given({ phase: 'Unknown', since: -15, conditions: sick }),
    node({ conditions: sick }),
    'HealthTimeout',
    'The machine has been unhealthy for 10m0s and is Failed: Ready is False',
  ],
  [
    'its node missing for too long',
    given({ phase: 'Unknown', since: -15 }),
    undefined,
    'HealthTimeout',
    'The machine has been unhealthy for 10m0s and is Failed: Node fakeNode-0 went missing',
  ],
  [
    'an update in place that has failed for too long, on a node that is well',
    given({
      phase: 'InPlaceUpdateFailed',
      since: -15,
      operation: { type: 'InPlaceUpdate', state: 'Failed', description: 'Machine machine-0 failed to update: no room' },
    }),
    node(),
    'HealthTimeout',
    'The machine has been unhealthy for 10m0s and is Failed: Machine machine-0 failed to update: no room',
  ],
  [
    'reachable again',
    given({ phase: 'Unknown', conditions: sick }),
    node(),
    'NodeHealthy',
    'Machine machine-0 successfully re-joined the cluster',
  ],
])('the event says in a sentence: %s', (_what, m, n, reason, message) => {
  expect(planHealth(observe(m, n), NOON).event).toMatchObject({ reason, message });
});

test.each<[what: string, node: Node | undefined, message: string]>([
  ['no node came', undefined, 'no Node has registered for the machine'],
  ['its node is not ready', node({ conditions: sick }), 'Ready is False'],
  [
    'its node lacks critical components',
    node({ spec: { taints: critical } }),
    'the Node of the machine still has the taint node.gardener.cloud/critical-components-not-ready',
  ],
  [
    'its node has readiness taints',
    node({
      spec: {
        taints: ['network', 'storage'].map((rule) => ({ key: `readiness.k8s.io/${rule}`, effect: 'NoSchedule' })),
      },
    }),
    'the Node of the machine still has the taints readiness.k8s.io/network, readiness.k8s.io/storage',
  ],
])('a machine that does not join reports the reason: %s', (_what, n, message) => {
  const conditions = (n?.status?.conditions ?? []) as Condition[];
  const m = given({ phase: 'Pending', conditions, operation: { ...creating, lastUpdateTime: at(0) } });
  const { event } = planHealth(observe(m, n), new Date(NOON.getTime() + 21 * 60_000));
  expect(event).toMatchObject({
    reason: 'FailedToJoin',
    message: `The machine is Failed, because it did not join within 20m0s: ${message}`,
  });
});

test('a creation needs no event', () => {
  const m = given({ phase: 'Pending', operation: { ...creating, lastUpdateTime: at(0) } });
  expect(planHealth(observe(m, node()), NOON)).toMatchObject({ joined: true });
  expect(planHealth(observe(m, node()), NOON).event).toBeUndefined();
});

test.each<[what: string, change: Partial<MachineObservation>, message: string]>([
  [
    'its label was edited',
    { nodeOfOther: { node: 'fakeNode-0', ownedBy: 'machine-1', own: 'fakeNode-1' } },
    'The machine has no Node. Node fakeNode-0 already belongs to machine machine-1; Node fakeNode-1 belongs to the machine: set the label node=fakeNode-1 on the machine. The machine becomes',
  ],
  [
    'two VMs with one name',
    { nodeOfOther: { node: 'fakeNode-0', ownedBy: 'machine-1' } },
    'The machine has no Node. Node fakeNode-0 already belongs to machine machine-1; delete one of the two',
  ],
  [
    'its provider ID was edited',
    { conflictingNode: node({ spec: { providerID: 'a:///1' } }) },
    'The machine has no Node. Node fakeNode-0 has spec.providerID "a:///1", but the machine has "fakeID-0". If a user edited spec.providerID of the machine, restore',
  ],
])('a machine with a Node that belongs to another machine or VM reports the fix: %s', (_what, change, message) => {
  const { event, status } = planHealth(observe(given({ phase: 'Running' }), undefined, change), NOON);
  expect(event?.reason).toBe('NodeMissing');
  expect(event?.message).toContain(message);
  expect(status?.lastOperation?.description).toContain(
    message.slice('The machine has no Node. '.length).split('. The machine becomes')[0],
  );
});

test('a machine that waits for others in creation is reconciled exactly at the end of that wait', () => {
  const target = given({ phase: 'Unknown', since: -20, conditions: sick });
  const look = (now: Date) =>
    planHealth(observe(target, node({ conditions: sick }), { replacementsInProgress: 1 }), now).deadline;
  expect(look(NOON)).toEqual(NOON);
  expect(look(new Date(NOON.getTime() - 1))).toEqual(NOON);
  expect(look(new Date(NOON.getTime() + 1))).toBeUndefined();
});
