import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
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

/** Returns the cells of an object, without the columns Name and Age that all kinds have. */
function shown(plural: string, version: string, body: Record<string, unknown>): unknown[] {
  const kind = builtinKinds.find((one) => one.plural === plural && one.version === version);
  if (kind === undefined) throw new Error(`no kind ${plural} ${version}`);
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`;
  const object: ApiObject = { apiVersion, kind: kind.kind, metadata: { name: 'x' }, ...body };
  return (kind.columns ?? [])
    .filter(({ name }) => name !== 'Name' && name !== 'Age')
    .map(({ value }) => value?.(object, now));
}

const cpu = (target: Record<string, unknown>) => ({ type: 'Resource', resource: { name: 'cpu', target } });
const rules = (...hosts: string[]) => hosts.map((host) => ({ host }));
const slice = {
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1', '10.0.0.2'] }, { addresses: ['10.0.0.3', '10.0.0.4'] }],
};

test.each<[string, string, Record<string, unknown>, unknown[]]>([
  [
    'horizontalpodautoscalers',
    'v2',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        minReplicas: 1,
        maxReplicas: 3,
        metrics: [cpu({ averageUtilization: 80 }), cpu({ averageValue: '1' }), cpu({})],
      },
      status: { currentReplicas: 2, currentMetrics: [{ resource: { current: { averageUtilization: 5 } } }] },
    },
    ['Deployment/d', 'cpu: 5%/80%, cpu: <unknown>/1 + 1 more...', '1', 3, 2],
  ],
  [
    'horizontalpodautoscalers',
    'v1',
    { spec: { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 3, targetCPUUtilizationPercentage: 70 } },
    ['D/d', 'cpu: <unknown>/70%', '<unset>', 3, 0],
  ],
  [
    'ingresses',
    'v1',
    { spec: { rules: rules('a', 'b', 'c', 'd'), tls: [{}] } },
    ['<none>', 'a,b,c + 1 more...', '', '80, 443'],
  ],
  [
    'ingressclasses',
    'v1',
    { spec: { controller: 'c', parameters: { apiGroup: 'g', kind: 'K', name: 'n' } } },
    ['c', 'K.g/n'],
  ],
  ['networkpolicies', 'v1', { spec: { podSelector: { matchLabels: { a: 'b' } } } }, ['a=b']],
  [
    'endpointslices',
    'v1',
    { ...slice, ports: [{ port: 80 }, { name: 'b' }, {}] },
    ['IPv4', '80,b,*', '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...'],
  ],
  ['validatingadmissionpolicies', 'v1', { spec: { validations: [{}] } }, [1, '<unset>']],
  ['validatingadmissionpolicybindings', 'v1', { spec: { policyName: 'p', paramRef: { name: 'n' } } }, ['p', '*/n']],
  [
    'apiservices',
    'v1',
    { status: { conditions: [{ type: 'Available', status: 'False', reason: 'R' }] } },
    ['Local', 'False (R)'],
  ],
  [
    'prioritylevelconfigurations',
    'v1',
    { spec: { type: 'Limited', limited: { nominalConcurrencyShares: 30 } } },
    ['Limited', 30, '<none>', '<none>', '<none>'],
  ],
  [
    'podtemplates',
    'v1',
    { template: { metadata: { labels: { a: '1' } }, spec: { containers: [{ name: 'c', image: 'i' }] } } },
    ['c', 'i', 'a=1'],
  ],
])('%s %s are printed', (plural, version, body, cells) => {
  expect(shown(plural, version, body)).toEqual(cells);
});

test.each([
  ['storageclass.kubernetes.io/is-default-class', 'fast (default)'],
  ['storageclass.beta.kubernetes.io/is-default-class', 'fast (default)'],
  ['example.dev/is-default-class', 'fast'],
])('the name of a storage class with the annotation %s is shown as %s', (annotation, shown) => {
  const [column] = builtinKinds.find(({ kind }) => kind === 'StorageClass')?.columns ?? [];
  const object = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast', annotations: { [annotation]: 'true' } },
  };
  expect(column).toMatchObject({ name: 'Name', type: 'string', format: 'name' });
  expect(column?.value?.(object, now)).toBe(shown);
});
