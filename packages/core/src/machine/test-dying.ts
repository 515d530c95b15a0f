import type { Machine, MachineStatus } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import type { DrainObservation, DrainPod } from '../drain/model/observation.ts';
import { look, pod as podOf } from '../drain/testing.ts';
import { type MachineCode, MachineError } from '../driver/contract/errors.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import type { CallMemory, MachineObservation } from './model/observation.ts';
import type { Action } from './model/plan.ts';
import { at, condition, hc, machine, NOON, node } from './testing.ts';

export const T1 = 'Set machine status to termination. Now, getting VM Status';
export const T2 = 'Initiate node drain';
export const T3 = 'Force Drain successful. Delete Volume Attachments';
export const T4 = 'Drain successful. Initiate VM deletion';
export const T5 = 'VM deletion was successful. Initiate node object deletion';
export const T6 = 'Deletion of Node Object "fakeNode-0" is successful. Initiate machine object finalizer removal';

export const terminating = (description: string): MachineStatus => ({
  currentStatus: { phase: 'Terminating', lastUpdateTime: at(0) },
  lastOperation: { description, state: 'Processing', type: 'Delete', lastUpdateTime: at(0) },
});

export const dying = (status: MachineStatus, change: Partial<Machine['metadata']> = {}): Machine =>
  machine({
    metadata: { deletionTimestamp: at(0), labels: { node: 'fakeNode-0' }, ...change },
    spec: { providerID: 'fakeID-0' },
    status,
  });

export const cordoned = (change: Partial<Node['metadata']> = {}, ...taints: Taint[]): Node =>
  node({
    metadata: { finalizers: ['node.machine.sapcloud.io/machine-controller'], ...change },
    spec: { unschedulable: true, taints },
    conditions: [...hc('True'), condition('Terminating', 'True')],
  });

export const pod = (change: Partial<DrainPod> = {}): DrainPod => podOf('a', change);

export const emptyDrain: DrainObservation = look([], { detachTimeoutMs: 1, reattachTimeoutMs: 1 });

export const see = (m: Machine, change: Partial<MachineObservation> = {}): MachineObservation => ({
  machine: m,
  settings: settingsOf(m, MACHINE_DEFAULTS),
  inputs: 'i',
  asksForToken: false,
  hasTarget: true,
  node: cordoned(),
  frozen: false,
  calls: {},
  driver: { initialize: false, status: true },
  replacementsInProgress: 0,
  drain: emptyDrain,
  ...change,
});

export const verbs = (actions: readonly Action[]): string[] =>
  actions.map((action) => (action.do === 'call' ? `call ${action.call}` : action.do));

export const failedCall = (kind: 'status' | 'delete', code: MachineCode): CallMemory => ({
  last: { kind, at: NOON, outcome: { ok: false, error: new MachineError(code, 'boom') }, failures: 1, inputs: 'i' },
});

export const attachedBy = (state: 'live' | 'going'): DrainObservation => ({
  ...emptyDrain,
  attachments: [{ name: 'va', uid: 'uid-va', volume: 'pv', deleting: state === 'going' }],
});
export const vmGoneAt = (minutes: number): CallMemory => ({
  last: { kind: 'delete', at: new Date(at(minutes)), outcome: { ok: true }, failures: 0, inputs: 'i' },
});
export const vmGone = vmGoneAt(-1);
export const OUT_OF_SERVICE: Taint = {
  key: 'node.kubernetes.io/out-of-service',
  value: 'nodeshutdown',
  effect: 'NoExecute',
};

const { node: _, drain: __, ...rest } = see(dying(terminating(T1), { labels: {} }));
export const nodeless: MachineObservation = rest;
export const described = (actions: readonly Action[]): string | undefined => {
  const [first] = actions;
  return first?.do === 'writeStatus' ? first.status.lastOperation?.description : undefined;
};
