import { Annotations, type Machine, type MachineDeployment } from '@mcm/api';
import { createMetrics } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { CanaryChecks } from '../rollout/canary-checks.ts';
import { type ManagerSources, registerManagerMetrics } from './manager.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const none = { store: { list: () => [], size: 0 } };

interface Given {
  readonly annotations: Readonly<Record<string, string>>;
  readonly machines?: readonly Machine[];
  readonly checks?: CanaryChecks;
}

async function linesOf(name: string, { annotations, machines = [], checks }: Given): Promise<readonly string[]> {
  const metrics = createMetrics({ process: false });
  const deployment = partial<MachineDeployment>({
    metadata: { name: 'workers', namespace: 'test', uid: 'u', annotations },
    spec: { replicas: 1, template: { spec: { class: { name: 'small' } } } },
  });
  const sources = partial<ManagerSources>({
    deployments: { store: { list: () => [deployment], size: 1 } },
    sets: none,
    machines: { store: { list: () => machines, size: machines.length }, onChange: () => () => undefined },
    canaryChecks: checks,
    clock: { now: () => NOW },
  });
  registerManagerMetrics(metrics.meters, sources);
  for (const check of ['Ready', 'NotReady', 'NotReady', 'Unknown'] as const) checks?.checked(check);
  return (await metrics.scrape()).text.split('\n').filter((line) => line.startsWith(name));
}

test('the checks of the pods of canaries are counted by their result', async () => {
  expect(await linesOf('mcm_canary_pod_checks_total', { annotations: {}, checks: new CanaryChecks() })).toEqual([
    'mcm_canary_pod_checks_total{result="Ready"} 1',
    'mcm_canary_pod_checks_total{result="NotReady"} 2',
    'mcm_canary_pod_checks_total{result="Unknown"} 1',
  ]);
});

test('a deployment has the time at which marks of an autoscaler last expired', async () => {
  const name = 'mcm_autoscaler_marks_expired_time_seconds';
  expect(await linesOf(name, { annotations: {} })).toEqual([]);
  expect(await linesOf(name, { annotations: { [Annotations.MarksExpired]: '2026-01-01T12:00:00Z' } })).toEqual([
    `${name}{name="workers",namespace="test"} 1767268800`,
  ]);
});

test('warm machines are counted by deployment, with the number that the CapacityBuffer needs', async () => {
  const annotations = { [Annotations.WarmBuffer]: 'apps/web', [Annotations.WarmBufferMachines]: '2' };
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'MachineDeployment', name: 'workers', uid: 'u', controller: true },
  ];
  const warm = machine({ metadata: { ownerReferences, annotations: { [Annotations.WarmState]: 'Stopped' } } });
  const given = { annotations, machines: [warm, machine({ metadata: { uid: 'other' } })] };
  expect(await linesOf('mcm_warm_buffer_machines', given)).toEqual([
    'mcm_warm_buffer_machines{name="workers",namespace="test",buffer="apps/web"} 2',
  ]);
  expect(await linesOf('mcm_warm_machines', given)).toEqual([
    'mcm_warm_machines{name="workers",namespace="test",ready="false"} 1',
  ]);
});
