import { fileURLToPath } from 'node:url';
import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { sumOf } from './common/counts.ts';
import type { Outcome } from './common/set.ts';
import { BORN, controller, lastOperation, linesOf, machine, manager, mcmMetrics } from './mcm/metrics.ts';

const OWN_COPY = fileURLToPath(new URL('../../testdata', import.meta.url));

const outcomes: Outcome[] = [];
for await (const outcome of mcmMetrics.run(OWN_COPY)) outcomes.push(outcome);

test.each(['machine-controller-manager', 'machine-controller'])(
  '%s: every recorded metric exists with its type and labels',
  (program) => {
    const own = outcomes.filter(({ name }) => name.startsWith(`${program} `));
    expect(own.length).toBeGreaterThan(10);
    expect(own.filter(({ failure }) => failure !== undefined)).toEqual([]);
  },
);

test('only metrics of Go libraries are not compared', () => {
  expect(sumOf(outcomes.map(({ counts }) => counts))).toEqual({
    metrics: 69,
    'metrics of Go libraries, which mcm does not have': 16,
  });
});

test('gauges have the values in the objects, and no values for deleted objects [BUG-14 and ODD-22]', async () => {
  const { metrics, deployments } = manager();
  const lines = await linesOf(metrics);
  const of = (name: string) => `${name}{name="d",namespace="ns"}`;
  expect(lines).toContain(`${of('mcm_machine_deployment_info_spec_replicas')} 3`);
  expect(lines).toContain(`${of('mcm_machine_deployment_info_spec_rolling_update_max_surge')} 2`);
  expect(lines).toContain(`${of('mcm_machine_deployment_info_spec_rolling_update_max_unavailable')} 0`);
  expect(lines).toContain('mcm_machine_set_status_replicas{name="s",namespace="ns"} 3');
  deployments.objects.length = 0;
  expect(await linesOf(metrics)).not.toContain(`${of('mcm_machine_deployment_info_spec_replicas')} 3`);
});

test('a deleted machine is counted if it had failed its health check, and not if it was running', async () => {
  const { metrics, machines } = manager();
  const deleting = (phase: 'Failed' | 'Running'): void => {
    const old: Machine = { ...machine, status: { lastOperation, currentStatus: { phase, lastUpdateTime: BORN } } };
    machines.update(old, { ...old, metadata: { ...old.metadata, deletionTimestamp: BORN } });
  };
  deleting('Running');
  expect(await linesOf(metrics)).toContain('mcm_machine_stale_machines_total 0');
  deleting('Failed');
  expect(await linesOf(metrics)).toContain('mcm_machine_stale_machines_total 1');
});

test('stages are timed from the creation to Running, during the drain, and by the calls of the driver', async () => {
  const { metrics, clock, machines, driver } = controller();
  const at = (phase: 'Pending' | 'Running' | 'Terminating', description = ''): Machine => ({
    ...machine,
    status: {
      currentStatus: { phase, lastUpdateTime: BORN },
      lastOperation: { ...lastOperation, description },
    },
  });
  await clock.advance(30_000);
  driver.observe('create', 30_000, undefined, machine, undefined);
  await clock.advance(30_000);
  machines.update(at('Pending'), at('Running'));
  const draining = at('Terminating', 'VM is there. Initiate node drain');
  machines.update(at('Terminating'), draining);
  await clock.advance(90_000);
  machines.update(draining, at('Terminating', 'Drained. Initiate VM deletion'));
  driver.observe('list', 20, undefined);
  const lines = await linesOf(metrics);
  const kind = '{namespace="ns",machine_deployment="d",instance_type="",zone=""}';
  expect(lines).toContain(`mcm_machine_create_duration_seconds${kind} 30`);
  expect(lines).toContain(`mcm_machine_join_duration_seconds${kind} 60`);
  expect(lines).toContain('mcm_machine_drain_duration_seconds{namespace="ns",machine_deployment="d"} 90');
  expect(lines).toContain('mcm_machine_stage_duration_seconds_sum{stage="join"} 60');
  expect(lines).toContain(
    'mcm_cloud_api_driver_request_duration_seconds_count{provider="local",operation="list_machine"} 1',
  );
  expect(lines).toContain('mcm_machine_controller_frozen 1');
  expect(lines).toContain('mcm_machine_orphans{kind="VM"} 2');
  expect(lines).toContain('mcm_machine_orphans{kind="Node"} 1');
});
