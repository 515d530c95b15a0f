import { Annotations, type Machine, type MachineClass, type MachineDeployment } from '@mcm/api';
import { createMetrics } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { machine } from '../machine/testing.ts';
import { CanaryChecks } from '../rollout/canary-checks.ts';
import { type ManagerSources, registerManagerMetrics } from './manager.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const none = { store: { list: () => [], size: 0 } };

interface Given {
  readonly annotations: Readonly<Record<string, string>>;
  readonly machines?: readonly Machine[];
  readonly checks?: CanaryChecks;
  readonly ofClass?: Readonly<Record<string, string>>;
  readonly now?: string;
  readonly rolloutAnnotations?: boolean;
}

async function linesOf(name: string, given: Given): Promise<readonly string[]> {
  const { annotations, machines = [], checks, ofClass = {}, now, rolloutAnnotations = true } = given;
  const metrics = createMetrics({ process: false });
  const deployment = partial<MachineDeployment>({
    metadata: { name: 'workers', namespace: 'test', uid: 'u', annotations },
    spec: { replicas: 1, template: { spec: { class: { name: 'small' } } } },
    status: { replicas: 5, updatedReplicas: 2 },
  });
  const machineClass = partial<MachineClass>({ metadata: { name: 'small', namespace: 'test', annotations: ofClass } });
  const classes = { get: (key: string) => (key === 'test/small' ? machineClass : undefined) };
  const sources = partial<ManagerSources>({
    deployments: { store: { list: () => [deployment], size: 1 } },
    sets: none,
    machines: { store: { list: () => machines, size: machines.length }, onChange: () => () => undefined },
    canaryChecks: checks,
    safeguards: { classes: { store: classes }, settings: { ...SAFEGUARD_DEFAULTS, rolloutAnnotations } },
    clock: { now: () => (now === undefined ? NOW : new Date(now)) },
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

describe('windows and freezes', () => {
  const nights = { [Annotations.RolloutWindows]: '0 22 * * * UTC 4h' };
  const holidays = { [Annotations.RolloutFreezes]: '2026-01-01T00:00:00Z/2026-01-02T12:00:00Z holidays' };
  const linesAt = async (given: Given): Promise<readonly string[]> =>
    (await linesOf('mcm_rollout_window', given)).map((line) => line.replace('{name="workers",namespace="test"}', ''));

  test('a deployment without windows has no series', async () => {
    expect(await linesAt({ annotations: {} })).toEqual([]);
  });

  test('a closed window has its next opening, and the number of machines that wait', async () => {
    expect(await linesAt({ annotations: nights })).toEqual([
      'mcm_rollout_window_open 0',
      `mcm_rollout_window_opens_time_seconds ${Date.parse('2026-01-01T22:00:00Z') / 1_000}`,
      'mcm_rollout_window_waiting_machines 3',
    ]);
  });

  test('an open window has no next opening, and no machine waits', async () => {
    expect(await linesAt({ annotations: nights, now: '2026-01-01T23:00:00Z' })).toEqual([
      'mcm_rollout_window_open 1',
      'mcm_rollout_window_waiting_machines 0',
    ]);
  });

  test('a freeze of the class counts for its deployments', async () => {
    expect(await linesAt({ annotations: nights, ofClass: holidays, now: '2026-01-01T23:00:00Z' })).toEqual([
      'mcm_rollout_window_open 0',
      `mcm_rollout_window_opens_time_seconds ${Date.parse('2026-01-02T22:00:00Z') / 1_000}`,
      'mcm_rollout_window_waiting_machines 3',
    ]);
  });

  test('an invalid window of a class is closed without a next opening', async () => {
    const ofClass = { [Annotations.RolloutWindows]: 'sometimes' };
    expect(await linesAt({ annotations: {}, ofClass })).toEqual([
      'mcm_rollout_window_open 0',
      'mcm_rollout_window_waiting_machines 3',
    ]);
  });

  test('without the feature gate, windows have no series', async () => {
    expect(await linesAt({ annotations: nights, rolloutAnnotations: false })).toEqual([]);
  });
});
