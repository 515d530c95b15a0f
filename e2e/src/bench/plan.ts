import { API_VERSION, type Machine, type MachineClass, type MachineDeployment, type MachineSet } from '@mcm/api';
import { SAFEGUARD_DEFAULTS, type SimulationInput, simulateRollout, templateHash } from '@mcm/core';
import { atMost, type Figure } from './machines/figure.ts';

const MACHINES = 2_000;
const MINUTE = 60_000;
const LABELS = { name: 'bench' };

const meta = (name: string) => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const owned = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid: `uid-${name}`, controller: true }],
});
const templateOf = (name: string) => ({
  metadata: { labels: LABELS },
  spec: { class: { kind: 'MachineClass', name } },
});

/** Returns the input of a rollout: many machines of one class, whose template changes. */
function asked(count: number): SimulationInput {
  const labels = { ...LABELS, 'machine-template-hash': templateHash(templateOf('blue'), undefined) };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;
  const deployment: MachineDeployment = {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: meta('pool'),
    spec: { replicas: count, selector: { matchLabels: LABELS }, strategy, template: templateOf('green') },
  };
  const set: MachineSet = {
    apiVersion: API_VERSION,
    kind: 'MachineSet',
    metadata: { ...meta('pool-blue'), ...owned('MachineDeployment', 'pool'), labels },
    spec: {
      replicas: count,
      selector: { matchLabels: labels },
      template: { ...templateOf('blue'), metadata: { labels } },
    },
  };
  const fleet = Array.from({ length: count }, (_, index): Machine => {
    const name = `m-${index}`;
    return {
      apiVersion: API_VERSION,
      kind: 'Machine',
      spec: set.spec.template.spec,
      metadata: { ...meta(name), ...owned('MachineSet', 'pool-blue'), labels: { ...labels, node: name } },
      status: { currentStatus: { phase: 'Running', lastUpdateTime: '2026-01-01T00:05:00Z' } },
    };
  });
  const nodes = fleet.map(({ metadata: { name } }) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...meta(name), labels: {} },
    spec: {},
  }));
  const classes = ['blue', 'green'].map((name) => ({ kind: 'MachineClass', metadata: meta(name) }) as MachineClass);
  return {
    deployment,
    sets: [set],
    fleet,
    classes,
    nodes,
    overlaps: [],
    safeguards: SAFEGUARD_DEFAULTS,
    durations: { join: () => 5 * MINUTE, gone: () => 3 * MINUTE, update: () => 10 * MINUTE },
    now: new Date('2026-01-02T00:00:00Z'),
  };
}

/** Measures the CPU time of `mcm plan` after the command has read all objects. */
export function* planFigures(): Generator<Figure> {
  const input = asked(MACHINES);
  const before = process.cpuUsage();
  const { steps, complete } = simulateRollout(input);
  const { user, system } = process.cpuUsage(before);
  if (!complete) throw new Error('the planned rollout does not complete');
  const work = `CPU time of a plan for ${MACHINES} machines with maxSurge 1`;
  yield atMost(work, (user + system) / 1_000_000, 20, 's', `${steps.length} steps`);
}
