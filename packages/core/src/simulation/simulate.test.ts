import {
  Annotations,
  API_VERSION,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { newSet } from '../deployment/state/new-set.ts';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { type Simulation, type SimulationInput, simulateRollout } from './simulate.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T02:00:00Z',
  ...more,
});
const templateOf = (name: string) => ({
  metadata: { labels: { app: 'pool' } },
  spec: { class: { kind: 'MachineClass', name } },
});
const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid: `uid-${name}`, controller: true }],
});

function deployment(replicas: number, spec: object = {}, more: object = {}): MachineDeployment {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const selector = { matchLabels: { app: 'pool' } };
  return {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: meta('pool', more),
    spec: { replicas, selector, strategy, template: templateOf('small'), ...spec },
  } as MachineDeployment;
}

function standing(count: number, wanted: MachineDeployment, phases: readonly string[] = []): SimulationInput {
  const before = deployment(count, { strategy: wanted.spec.strategy });
  const limits = { surge: 1, unavailable: 0, annotatedSurge: 1 };
  const draft = newSet(before, { replicas: count, revision: 1, limits });
  const set = { ...draft, metadata: { ...draft.metadata, ...meta('pool-a') } } as MachineSet;
  const fleet = Array.from({ length: count }, (_, index): Machine => {
    const name = `m-${index}`;
    const labels = { ...set.spec.template.metadata?.labels, node: name };
    const currentStatus = { phase: phases[index] ?? 'Running', lastUpdateTime: '2026-01-01T02:00:00Z' };
    return {
      apiVersion: API_VERSION,
      kind: 'Machine',
      spec: set.spec.template.spec,
      metadata: meta(name, { ...ownedBy('MachineSet', 'pool-a'), labels }),
      status: { currentStatus },
    } as Machine;
  });
  const nodes = fleet.map(({ metadata: { name } }) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta(name),
    spec: {},
  }));
  const classes = ['small', 'large'].map((name) => ({ kind: 'MachineClass', metadata: meta(name) }) as MachineClass);
  return {
    deployment: wanted,
    sets: [set],
    fleet,
    classes,
    nodes: nodes as Node[],
    overlaps: [],
    now: NOW,
    safeguards: SAFEGUARD_DEFAULTS,
    durations: { join: () => 3 * MINUTE, gone: () => MINUTE, update: () => 5 * MINUTE },
  };
}

const reported = ({ steps }: Simulation): string[] =>
  steps.map(({ afterMs, action, name }) => `${afterMs / MINUTE} ${action} ${name.replace(/pool-[0-9a-f]+-/, 'new-')}`);
const LARGE = { template: templateOf('large') };

describe('a simulated rollout', () => {
  test('a simulated rollout does nothing if the state is as requested', () => {
    const input = standing(3, deployment(3));
    expect(simulateRollout(input)).toMatchObject({ steps: [], complete: true, lastsMs: 0, leastAvailable: 3, most: 3 });
  });

  test('a simulated rollout stays within the bounds of its strategy, and reports the duration', () => {
    const rolled = simulateRollout(standing(2, deployment(2, LARGE)));
    expect(reported(rolled).slice(1)).toEqual([
      ...['0 make new-<1>', '3 delete m-0', '4 make new-<2>', '7 delete m-1'],
    ]);
    expect(rolled).toMatchObject({ complete: true, lastsMs: 8 * MINUTE, leastAvailable: 2, most: 3 });
    expect(rolled.disrupted.map(({ metadata }) => metadata.name)).toEqual(['m-0', 'm-1']);
  });

  test('a simulated scale-down deletes the least useful machines first', () => {
    const input = standing(4, deployment(2), ['Running', 'Pending', 'Running', 'Unknown']);
    const fewer = simulateRollout(input);
    expect(reported(fewer)).toEqual(['0 delete m-3', '0 delete m-1']);
    expect(fewer.complete).toBe(true);
  });

  test('a simulated rollout gives new machines their real names', () => {
    const more = simulateRollout(standing(2, deployment(4)));
    const names = more.steps.map(({ action, name }) => `${action} ${name}`);
    expect(names).toEqual([expect.stringMatching(/^make pool-a-[a-z0-9]{5}$/), expect.stringMatching(/^make pool-a-/)]);
    expect(more).toMatchObject({ complete: true, lastsMs: 3 * MINUTE });
    expect(simulateRollout(standing(2, deployment(4))).steps).toEqual(more.steps);
  });

  test('a simulated rollout waits for the soak time of its canaries', () => {
    const annotations = {
      'rollout.machine.sapcloud.io/canary': '1',
      'rollout.machine.sapcloud.io/canary-soak': '30m',
    };
    const care = simulateRollout(standing(3, deployment(3, LARGE, { annotations })));
    const made = care.steps.filter(({ action }) => action === 'make').map(({ afterMs }) => afterMs / MINUTE);
    expect(made[0]).toBe(0);
    expect(made[1]).toBeGreaterThanOrEqual(33);
    expect(care.complete).toBe(true);
  });

  test('a simulated rollout includes the wait for its windows, also those of its class, in the duration', () => {
    const windows = { annotations: { 'rollout.machine.sapcloud.io/windows': '0 14 * * * UTC 5m' } };
    const own = simulateRollout(standing(2, deployment(2, LARGE, windows)));
    expect(reported(own).slice(1)).toEqual([
      ...['120 make new-<1>', '123 delete m-0', '124 make new-<2>', '1560 delete m-1'],
    ]);
    expect(own).toMatchObject({ complete: true, lastsMs: 1561 * MINUTE });
    const input = standing(2, deployment(2, LARGE));
    const classes = input.classes.map((one) => ({ ...one, metadata: { ...one.metadata, ...windows } }));
    expect(reported(simulateRollout({ ...input, classes })).slice(1)).toEqual(reported(own).slice(1));
  });

  test('a simulated rollout replaces nothing while it is paused, but still scales', () => {
    expect(simulateRollout(standing(3, deployment(3, { ...LARGE, paused: true }))).steps).toEqual([]);
    expect(reported(simulateRollout(standing(3, deployment(2, { paused: true }))))).toEqual(['0 delete m-0']);
  });

  test('a simulated in-place update updates one machine after the other, on the same machines', () => {
    const inPlaceUpdate = { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' };
    const strategy = { type: 'InPlaceUpdate', inPlaceUpdate };
    const updated = simulateRollout(standing(2, deployment(2, { ...LARGE, strategy })));
    expect(reported(updated).slice(1)).toEqual(['0 select m-0', '5 hand over m-0', '5 select m-1', '10 hand over m-1']);
    expect(updated).toMatchObject({ complete: true, leastAvailable: 1, most: 2 });
    const manual = { ...strategy, inPlaceUpdate: { ...inPlaceUpdate, orchestrationType: 'Manual' } };
    const byHand = simulateRollout(standing(2, deployment(2, { ...LARGE, strategy: manual })));
    expect(byHand).toMatchObject({ complete: false, because: 'waiting: a user must select nodes' });
  });

  test('a node of two machines is updated once, for its owner, and the other machine is reported', () => {
    const inPlaceUpdate = { maxSurge: 0, maxUnavailable: 2, orchestrationType: 'Auto' };
    const strategy = { type: 'InPlaceUpdate', inPlaceUpdate };
    const input = standing(3, deployment(3, { ...LARGE, strategy }));
    const fleet = input.fleet.map((one, index) =>
      index === 0 ? { ...one, metadata: { ...one.metadata, labels: { ...one.metadata.labels, node: 'm-1' } } } : one,
    );
    const updated = simulateRollout({ ...input, fleet });
    expect(reported(updated).filter((step) => step.includes('select'))).toEqual(['0 select m-1', '0 select m-2']);
    expect(updated.complete).toBe(false);
    expect(updated.problems).toEqual(['machine m-0 refers to node m-1, but this node belongs to machine m-1']);
  });

  test('a simulated rollout stops behind a machine that is never deleted, and reports this machine', () => {
    const input = standing(2, deployment(2, LARGE));
    const gone = ({ metadata }: Machine) => (metadata.name === 'm-0' ? Number.POSITIVE_INFINITY : MINUTE);
    const stuck = simulateRollout({ ...input, durations: { ...input.durations, gone } });
    expect(stuck.complete).toBe(false);
    expect(stuck.because).toMatch(/^waiting: .*old machines still exist/);
  });

  test('a simulated rollout is blocked without the class, and replaces failed machines', () => {
    const missing = simulateRollout(standing(2, deployment(2, { template: templateOf('huge') })));
    expect(missing).toMatchObject({
      complete: false,
      steps: [],
      because: 'waiting: MachineClass "huge" does not exist',
    });
    const failed = simulateRollout(standing(3, deployment(3), ['Running', 'Failed']));
    expect(reported(failed)).toEqual(['0 delete m-1', expect.stringMatching(/^\d make pool-a-|^0 make new-/)]);
    expect(failed.complete).toBe(true);
  });

  test('a simulated rollout does not change its input', () => {
    const input = standing(2, deployment(2, LARGE));
    const before = JSON.stringify([input.deployment, input.sets, input.fleet, input.nodes]);
    simulateRollout(input);
    expect(JSON.stringify([input.deployment, input.sets, input.fleet, input.nodes])).toBe(before);
  });
});

describe('a simulated deployment with warm machines', () => {
  const SETTING = { annotations: { [Annotations.WarmMachines]: '2', [Annotations.WarmState]: 'Stopped' } };
  const LASTS = { join: () => 3 * MINUTE, gone: () => MINUTE, update: () => 5 * MINUTE, start: () => MINUTE };

  const warmMachine = (name: string, { spec, metadata }: MachineSet, state = 'Stopped'): Machine =>
    ({
      apiVersion: API_VERSION,
      kind: 'Machine',
      spec: { ...spec.template.spec, providerID: name },
      metadata: meta(name, {
        ...ownedBy('MachineDeployment', 'pool'),
        labels: { node: name },
        annotations: {
          [Annotations.WarmState]: state,
          [Annotations.WarmTemplate]: metadata.labels?.[Labels.TemplateHash],
          ...(state === 'Running' ? {} : { [Annotations.WarmPower]: 'Stopped' }),
        },
      }),
      status: { currentStatus: { phase: state === 'Running' ? 'Running' : 'Available' } },
    }) as unknown as Machine;

  function withWarm(wanted: MachineDeployment, count: number, state?: string): SimulationInput {
    const input = standing(2, wanted);
    const [set] = input.sets;
    const warm = set ? Array.from({ length: count }, (_, index) => warmMachine(`w-${index}`, set, state)) : [];
    return { ...input, fleet: [...input.fleet, ...warm], durations: LASTS };
  }

  const told = (simulation: Simulation): string[] =>
    reported(simulation).map((step) => step.replace(/make new-[a-z0-9]{5}$/, 'make created'));

  test('a scale-up uses the warm machines first, and replaces the used warm machines', () => {
    const simulation = simulateRollout(withWarm(deployment(5, {}, SETTING), 2));
    expect(told(simulation)).toEqual([
      ...['0 use warm w-0', '0 use warm w-1', '0 make created'],
      ...['0 make warm new-w<1>', '0 make warm new-w<2>'],
    ]);
    expect(simulation).toMatchObject({ complete: true, lastsMs: 3 * MINUTE, leastAvailable: 2, most: 5 });
    const warmOnly = simulateRollout(withWarm(deployment(4, {}, SETTING), 2));
    expect(warmOnly).toMatchObject({ complete: true, lastsMs: MINUTE, most: 4 });
  });

  test('a scale-up does not use a warm machine of another template', () => {
    const input = withWarm(deployment(3, {}, SETTING), 1);
    const fleet = input.fleet.map((machine) =>
      machine.metadata.name === 'w-0'
        ? { ...machine, metadata: { ...machine.metadata, annotations: { [Annotations.WarmState]: 'Stopped' } } }
        : machine,
    );
    expect(told(simulateRollout({ ...input, fleet }))[0]).toBe('0 make created');
  });

  test('a rollout replaces the warm machines at its end', () => {
    const simulation = simulateRollout(withWarm(deployment(2, LARGE, SETTING), 2));
    const warm = told(simulation).filter((step) => step.includes('warm'));
    expect(warm).toEqual([
      ...['7 delete warm w-0', '7 delete warm w-1'],
      ...[1, 2].map((index) => expect.stringMatching(new RegExp(`^7 make warm .*w<${index}>$`))),
    ]);
    expect(simulation).toMatchObject({ complete: true, lastsMs: 8 * MINUTE, leastAvailable: 2, most: 3 });
  });

  test('the number of warm machines changes with the annotation, and warm machines are no machines of a set', () => {
    const fewer = { annotations: { [Annotations.WarmMachines]: '0' } };
    expect(told(simulateRollout(withWarm(deployment(2, {}, fewer), 2)))).toEqual([
      '0 delete warm w-0',
      '0 delete warm w-1',
    ]);
    const more = simulateRollout(withWarm(deployment(2, {}, SETTING), 0));
    expect(told(more)).toEqual(['0 make warm new-w<1>', '0 make warm new-w<2>']);
    expect(more).toMatchObject({ complete: true, leastAvailable: 2, most: 2 });
  });
});
