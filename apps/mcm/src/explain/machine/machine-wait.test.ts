import { Annotations, API_VERSION, type LastOperation, type Machine, type MachinePhase } from '@mcm/api';
import { MACHINE_DEFAULTS } from '@mcm/core';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { machineHints } from './machine-hints.ts';
import { machineWait, waitText } from './machine-wait.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

interface Parts {
  readonly phase: MachinePhase;
  readonly description: string;
  readonly state?: LastOperation['state'];
  readonly conditions?: readonly object[];
  readonly going?: boolean;
  readonly type?: LastOperation['type'];
}

const machine = ({
  phase,
  description,
  state = 'Processing',
  conditions = [],
  going = false,
  type = going ? 'Delete' : 'HealthCheck',
}: Parts): Machine =>
  partial<Machine>({
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: {
      name: 'm',
      namespace: 'ns',
      uid: 'm',
      resourceVersion: '1',
      creationTimestamp: at(-60),
      labels: { node: 'n' },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'MachineSet', name: 's', uid: 's', controller: true }],
      ...(going && { deletionTimestamp: at(-3) }),
    },
    spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'local:///z/i' },
    status: {
      currentStatus: { phase, lastUpdateTime: at(-3) },
      lastOperation: { description, state, type, lastUpdateTime: at(-1) },
      conditions,
    },
  });

const text = (parts: Parts): string | undefined => {
  const wait = machineWait(machine(parts));
  return wait && waitText(wait, NOW);
};

const deadlock = [
  { type: 'Ready', status: 'True' },
  { type: 'KernelDeadlock', status: 'True', reason: 'Hung' },
];
const toUnknown = 'Machine m is unhealthy - changing MachinePhase to Unknown';

test.each<[what: string, parts: Parts, says: string]>([
  [
    'an unhealthy machine: the condition of its node, and the deadline',
    { phase: 'Unknown', description: `${toUnknown}. Node conditions: [{...}]`, conditions: deadlock },
    'the machine is unhealthy: KernelDeadlock is True (Hung); in 7m0s the machine may be Failed and replaced',
  ],
  [
    'a machine without its Node: no outdated conditions',
    { phase: 'Unknown', description: `Node object went missing. ${toUnknown}`, conditions: deadlock },
    'Node object went missing. the machine is unhealthy; in 7m0s the machine may be Failed and replaced',
  ],
  [
    'a failed in-place update: the end of the wait for a late success',
    { phase: 'InPlaceUpdateFailed', description: 'Machine m failed to update dependencies: no room', state: 'Failed' },
    'Machine m failed to update dependencies: no room; in 7m0s the machine may be Failed and replaced',
  ],
  [
    'a deletion whose node the cloud cannot identify: no text about a drain',
    {
      phase: 'Terminating',
      going: true,
      state: 'Failed',
      description:
        'Error occurred with decoding machine error status while getting VM status, aborting without retry. machine code: machine codes error: code = [Unauthenticated] message = [no]. Set machine status to termination. Now, getting VM Status',
    },
    'The search for the VM failed: Unauthenticated: no',
  ],
  [
    'a deletion before its first step: no text about the join',
    { phase: 'Running', going: true, type: 'Create', description: 'Machine m successfully joined the cluster' },
    'the deletion is requested, and the machine controller has not started the deletion yet; in 1h57m0s mcm forces the drain',
  ],
  [
    'volumes that are attached after the deletion of the VM: the deadline, and the next step',
    {
      phase: 'Terminating',
      going: true,
      description:
        'VM deletion was successful. Waiting: volumes are still attached: pv-0. Initiate node object deletion',
    },
    'VM deletion was successful. Waiting: volumes are still attached: pv-0; in 1m0s mcm deletes the Node anyway; pods that need the volumes may wait until a user detaches the volumes',
  ],
])('%s', (_what, parts, says) => {
  expect(text(parts)).toBe(says);
});

test.each<[what: string, parts: Parts, code: string | undefined, hints: RegExp[]]>([
  [
    'an unhealthy machine: its node, and the commands to replace or keep it',
    { phase: 'Unknown', description: toUnknown },
    undefined,
    [/kubectl describe node n;/, /kubectl delete machine m -n ns; .* kubectl annotate machine m -n ns node\.\S+=now$/],
  ],
  [
    'a failed in-place update',
    { phase: 'InPlaceUpdateFailed', description: 'no' },
    undefined,
    [/if the update succeeds after the fix, mcm accepts the update/, /kubectl delete machine m -n ns$/],
  ],
  [
    'no capacity in the cloud: the time of the next call',
    { phase: 'CrashLoopBackOff', description: 'no', state: 'Failed' },
    'ResourceExhausted',
    [
      /mcm retries the call automatically, first after 10m0s and then less often; only one machine of the class and zone retries at a time$/,
    ],
  ],
  [
    'no permission to delete: the time of the next call',
    { phase: 'Terminating', description: 'no', state: 'Failed', going: true },
    'PermissionDenied',
    [
      /permission to the credentials of MachineClass small; mcm retries the call automatically, about every 10m0s, and after each change of class or Secret/,
    ],
  ],
])('hints: %s', (_what, parts, code, hints) => {
  const cause = code === undefined ? undefined : { code };
  const reported = machineHints(machine(parts), {
    cause,
    drain: undefined,
    step: undefined,
    settings: MACHINE_DEFAULTS,
    isActing: true,
  });
  expect(reported).toEqual(hints.map((hint) => expect.stringMatching(hint)));
});

test.each<[code: string | undefined, phase: MachinePhase, hint: string | undefined]>([
  [undefined, 'Unknown', 'check the node and the VM: kubectl describe node n'],
  ['ResourceExhausted', 'CrashLoopBackOff', expect.stringMatching(/^raise the quota, .* of MachineClass small$/)],
  ['Internal', 'CrashLoopBackOff', undefined],
  ['InvalidArgument', 'CrashLoopBackOff', 'correct the field in the machine, MachineClass small or its Secret'],
])(
  'the hint for the error %s in the phase %s announces no step of a machine controller that is not working',
  (code, phase, hint) => {
    const one = machine({ phase, description: toUnknown });
    const cause = code === undefined ? undefined : { code };
    const known = { cause, drain: undefined, step: undefined, settings: MACHINE_DEFAULTS, isActing: false };
    expect(machineHints(one, known)[0]).toEqual(hint);
  },
);

test('a machine that a user deletes before its first status waits for the start of the deletion', () => {
  const { status: _, ...unborn } = machine({ phase: 'Pending', description: '', going: true });
  expect(machineWait(unborn)?.doing).toBe(
    'the deletion is requested, and the machine controller has not started the deletion yet',
  );
});

test('the deadline of a machine is not before the end of its in-place update', () => {
  const one = machine({ phase: 'Unknown', description: toUnknown });
  const annotations = { [Annotations.UpdateInProgressUntil]: at(30) };
  const wait = machineWait({ ...one, metadata: { ...one.metadata, annotations } });
  expect(wait?.deadline?.at).toEqual(new Date(at(30)));
});

test('a machine without a set has the full creation timeout after its VM was created late', () => {
  const { ownerReferences: _owners, ...metadata } = machine({ phase: 'Pending', description: '' }).metadata;
  const wait = machineWait({ ...machine({ phase: 'Pending', description: '' }), metadata });
  expect(wait?.deadline?.at).toEqual(new Date(at(17)));
});

test('a Running machine whose Node has readiness taints waits for them, and shows since when', () => {
  const running = machine({ phase: 'Running', description: '' });
  expect(machineWait(running)).toBeUndefined();
  const waits = (keys: string) => {
    const annotations = { [Annotations.AwaitsReadiness]: `${at(-2)} ${keys}` };
    const wait = machineWait({ ...running, metadata: { ...running.metadata, annotations } });
    return [wait?.since, wait && waitText(wait, NOW)];
  };
  const counts = 'so the machine does not count as available';
  expect(waits('readiness.k8s.io/a')).toEqual([
    at(-2),
    `the Node has the taint readiness.k8s.io/a since ${at(-2)}, ${counts}`,
  ]);
  expect(waits('readiness.k8s.io/a,readiness.k8s.io/b')[1]).toContain('taints readiness.k8s.io/a, readiness.k8s.io/b');
});

test('a Pending machine with a Ready node waits for a taint or a condition, not for the VM', () => {
  const parts = { phase: 'Pending', description: 'Creating machine on cloud provider', type: 'Create' } as const;
  expect(text(parts)).toMatch(/^.*the VM exists, and the node has not joined yet or is not Ready/);
  expect(text({ ...parts, conditions: deadlock })).toMatch(
    /the node is Ready, and a taint or another condition of the node delays the machine/,
  );
});
