import { expect, test } from 'vitest';
import type { ApiObject } from '../../object.ts';
import { builtinKinds } from '../index.ts';
import { summarize } from './pod.ts';

const now = new Date('2024-01-01T01:00:00Z');

const pod = (status: Record<string, unknown>, metadata: Record<string, unknown> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec: { containers: [{ name: 'a' }, { name: 'b' }], initContainers: [{ name: 'i' }] },
  status,
});

const running = { ready: true, restartCount: 0, state: { running: {} } };

test.each([
  ['nothing known yet', pod({ phase: 'Pending' }), '0/2', 'Pending', '0'],
  ['both containers ready', pod({ phase: 'Running', containerStatuses: [running, running] }), '2/2', 'Running', '0'],
  [
    'one crashes',
    pod({
      phase: 'Running',
      containerStatuses: [
        running,
        {
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { finishedAt: '2024-01-01T00:58:00Z' } },
        },
      ],
    }),
    '1/2',
    'CrashLoopBackOff',
    '3 (2m ago)',
  ],
  [
    'an init container runs',
    pod({ phase: 'Pending', initContainerStatuses: [{ state: { running: {} } }] }),
    '0/2',
    'Init:0/1',
    '0',
  ],
  [
    'an init container failed',
    pod({ phase: 'Pending', initContainerStatuses: [{ state: { terminated: { exitCode: 2 } } }] }),
    '0/2',
    'Init:ExitCode:2',
    '0',
  ],
  [
    'deleted',
    pod({ phase: 'Running', containerStatuses: [running, running] }, { deletionTimestamp: '2024-01-01T00:59:00Z' }),
    '2/2',
    'Terminating',
    '0',
  ],
  [
    'deleted and ended',
    pod({ phase: 'Succeeded' }, { deletionTimestamp: '2024-01-01T00:59:00Z' }),
    '0/2',
    'Succeeded',
    '0',
  ],
])('a pod: %s', (_title, object, ready, status, restarts) => {
  expect(summarize(object, now)).toEqual({ ready, status, restarts });
});

const cells = (kind: string, object: Record<string, unknown>): Record<string, unknown> => {
  const columns = builtinKinds.find((one) => one.kind === kind)?.columns ?? [];
  const whole: ApiObject = { apiVersion: 'v1', kind, metadata: { name: 'x' }, ...object };
  return Object.fromEntries(columns.map((column) => [column.name, column.value?.(whole, now)]));
};

test('a cordoned node shows its roles and addresses', () => {
  expect(
    cells('Node', {
      metadata: { name: 'n', labels: { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/infra': '' } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '192.0.2.7' }],
      },
    }),
  ).toMatchObject({
    Status: 'Ready,SchedulingDisabled',
    Roles: 'infra,worker',
    'Internal-IP': '192.0.2.7',
    'External-IP': '<none>',
  });
});

test('a budget shows N/A for the bound that it lacks', () => {
  expect(
    cells('PodDisruptionBudget', { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 2 } }),
  ).toMatchObject({
    'Min Available': '50%',
    'Max Unavailable': 'N/A',
    'Allowed Disruptions': 2,
  });
});

test('no column fails on an object that has nothing in it', () => {
  for (const kind of builtinKinds) expect(() => cells(kind.kind, {}), kind.kind).not.toThrow();
});
