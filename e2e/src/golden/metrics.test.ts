import { readFileSync } from 'node:fs';
import type { Machine, MachineClass, MachineDeployment, MachineSet } from '@mcm/api';
import { registerDriverMetrics, registerMachineMetrics, registerManagerMetrics, SAFEGUARD_DEFAULTS } from '@mcm/core';
import { type Change, createMetrics, type Metrics, realClock, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';

type Recorded = Record<string, Record<string, { readonly type: string; readonly labels: readonly string[] }>>;
const recorded: Recorded = JSON.parse(readFileSync(new URL('mcm/metrics.json', import.meta.url), 'utf8'));

/** Metrics of Go's process and HTTP libraries, which this project does not have: docs/compatibility/differences.md. */
const NOT_OURS = [
  'process_max_fds',
  'process_network_receive_bytes_total',
  'process_network_transmit_bytes_total',
  'process_open_fds',
  'process_virtual_memory_bytes',
  'process_virtual_memory_max_bytes',
  'promhttp_metric_handler_requests_in_flight',
  'promhttp_metric_handler_requests_total',
];

const BORN = '2026-01-01T12:00:00Z';
const meta = (name: string) => ({ name, namespace: 'ns', uid: name, resourceVersion: '1', creationTimestamp: BORN });
const lastOperation = { state: 'Failed', type: 'HealthCheck', description: '', lastUpdateTime: BORN } as const;
const failedMachines = [{ name: 'm', providerID: 'p', ownerRef: 's', lastOperation }];
const condition = { type: 'Available', status: 'True', lastTransitionTime: BORN } as const;
const template = { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
const selector = { matchLabels: { a: 'b' } };
const apiVersion = 'machine.sapcloud.io/v1alpha1';
const deployment: MachineDeployment = {
  apiVersion,
  kind: 'MachineDeployment',
  metadata: meta('d'),
  spec: {
    replicas: 3,
    selector,
    template,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: '10%' } },
  },
  status: { replicas: 3, conditions: [condition], failedMachines },
};
const set: MachineSet = {
  apiVersion,
  kind: 'MachineSet',
  metadata: meta('s'),
  spec: { replicas: 3, selector, template },
  status: { replicas: 3, readyReplicas: 1, failedMachines },
};
const machine: Machine = {
  apiVersion,
  kind: 'Machine',
  metadata: { ...meta('m'), labels: { name: 'd', node: 'n' } },
  spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'p' },
  status: {
    conditions: [{ type: 'Ready', status: 'Unknown' }],
    currentStatus: { phase: 'Pending', lastUpdateTime: BORN },
    lastOperation,
  },
};

function cacheOf<T extends { readonly metadata: { readonly name: string } }>(...objects: T[]) {
  const handlers: ((change: Change<T>) => void)[] = [];
  return {
    synced: true,
    store: {
      size: objects.length,
      list: () => objects,
      get: () => undefined,
      byIndex: () => [],
      countByIndex: () => 0,
    },
    objects,
    onChange: (handler: (change: Change<T>) => void) => {
      handlers.push(handler);
      return () => undefined;
    },
    update: (old: T, object: T) => {
      for (const handler of handlers) handler({ type: 'updated', key: `ns/${object.metadata.name}`, old, object });
    },
  };
}

const linesOf = async (metrics: Metrics): Promise<string[]> => (await metrics.scrape()).text.split('\n');

async function shape(metrics: Metrics) {
  const found: Record<string, { type: string; labels: string[] }> = {};
  let name = '';
  for (const line of await linesOf(metrics)) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (typed && type) {
      name = typed;
      found[name] = { type, labels: [] };
    }
    const entry = found[name];
    if (line === '' || line.startsWith('#') || !entry) continue;
    const labels = [...line.matchAll(/([a-zA-Z_]+)="/g)].map(([, label = '']) => label);
    entry.labels = [...new Set([...entry.labels, ...labels])].filter((label) => label !== 'le').sort();
  }
  return found;
}

function library(): Metrics {
  const metrics = createMetrics({ prefix: 'mcm_' });
  const queue = metrics.queues('machine', { depth: () => 0, runningForMs: () => [] });
  queue.added?.();
  queue.retried?.();
  queue.started?.(1);
  queue.finished?.(1);
  metrics.requests('host')({ method: 'GET', path: '/api/v1/nodes', code: 200, ms: 1 });
  return metrics;
}

function manager() {
  const metrics = library();
  const sources = { deployments: cacheOf(deployment), sets: cacheOf(set), machines: cacheOf<Machine>() };
  const safeguards = { classes: cacheOf<MachineClass>(), settings: SAFEGUARD_DEFAULTS };
  registerManagerMetrics(metrics.meters, { ...sources, safeguards, clock: realClock });
  return { metrics, ...sources };
}

function controller(machineClass?: MachineClass) {
  const metrics = library();
  const clock = new VirtualClock({ start: new Date(BORN) });
  const machines = cacheOf(machine);
  const driver = registerDriverMetrics(metrics.meters, 'local', clock);
  driver.reportStages(
    registerMachineMetrics(metrics.meters, {
      machines,
      classOf: () => machineClass,
      frozen: () => true,
      shortages: () => [],
      suspects: () => ({ vms: 2, nodes: 1, quarantined: 0, stopped: 0 }),
      rechecks: () => ({ all: 0, stale: 0 }),
      clock,
    }),
  );
  return { metrics, clock, machines, driver };
}

test.each([
  ['machine-controller-manager', () => manager().metrics],
  ['machine-controller', () => controller().metrics],
])('%s: every recorded metric exists with its type and labels', async (binary, make) => {
  const ours = await shape(make());
  const wanted = Object.entries(recorded[binary] ?? {}).filter(([name]) => !NOT_OURS.includes(name));
  expect(wanted.length).toBeGreaterThan(10);
  for (const [name, { type, labels }] of wanted) {
    expect(ours[name], name).toEqual({ type, labels: [...labels] });
  }
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
