import type { Machine, MachineClass, MachineDeployment, MachineSet } from '@mcm/api';
import { registerDriverMetrics, registerMachineMetrics, registerManagerMetrics, SAFEGUARD_DEFAULTS } from '@mcm/core';
import { type Change, createMetrics, type Metrics, realClock, VirtualClock } from '@mcm/kube';
import { z } from 'zod';
import type { GoldenSet } from '../common/set.ts';
import { eachEntry } from './recording.ts';

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

export const BORN = '2026-01-01T12:00:00Z';
const meta = (name: string) => ({ name, namespace: 'ns', uid: name, resourceVersion: '1', creationTimestamp: BORN });
export const lastOperation = { state: 'Failed', type: 'HealthCheck', description: '', lastUpdateTime: BORN } as const;
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
export const machine: Machine = {
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

export const linesOf = async (metrics: Metrics): Promise<string[]> => (await metrics.scrape()).text.split('\n');

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

export function manager() {
  const metrics = library();
  const sources = { deployments: cacheOf(deployment), sets: cacheOf(set), machines: cacheOf<Machine>() };
  const safeguards = { classes: cacheOf<MachineClass>(), settings: SAFEGUARD_DEFAULTS };
  registerManagerMetrics(metrics.meters, { ...sources, safeguards, clock: realClock });
  return { metrics, ...sources };
}

export function controller() {
  const metrics = library();
  const clock = new VirtualClock({ start: new Date(BORN) });
  const machines = cacheOf(machine);
  const driver = registerDriverMetrics(metrics.meters, 'local', clock);
  driver.reportStages(
    registerMachineMetrics(metrics.meters, {
      machines,
      classOf: () => undefined,
      frozen: () => true,
      shortages: () => [],
      suspects: () => ({ vms: 2, nodes: 1, quarantined: 0, stopped: 0 }),
      rechecks: () => ({ all: 0, stale: 0 }),
      clock,
    }),
  );
  return { metrics, clock, machines, driver };
}

const PROGRAMS: Readonly<Record<string, () => Metrics>> = {
  'machine-controller-manager': () => manager().metrics,
  'machine-controller': () => controller().metrics,
};

const entry = z.object({ type: z.string(), labels: z.array(z.string()) });

const METRICS = 'metrics';

/** The metrics of the original. mcm must have each metric, with the same type and labels. */
export const mcmMetrics: GoldenSet = {
  name: 'mcm/metrics',
  async *run(dir) {
    const shapes = new Map<string, ReturnType<typeof shape>>();
    yield* eachEntry(dir, 'metrics.json', entry, async (program, name, { type, labels }) => {
      const make = PROGRAMS[program];
      if (make === undefined) return { failure: `mcm has no program ${program}` };
      if (NOT_OURS.includes(name))
        return { counts: { [METRICS]: 1, 'metrics of Go libraries, which mcm does not have': 1 } };
      const ours = await (shapes.get(program) ?? shape(make()));
      shapes.set(program, Promise.resolve(ours));
      const [wanted, found] = [print({ type, labels }), ours[name] && print(ours[name])];
      return wanted === found
        ? { counts: { [METRICS]: 1 } }
        : { failure: `mcm has ${found ?? 'no such metric'}, not ${wanted}` };
    });
  },
};

const print = ({ type, labels }: z.infer<typeof entry>): string => `a ${type} with the labels ${labels.join(', ')}`;
