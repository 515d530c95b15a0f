import { API_VERSION, type Machine, type MachineDeployment } from '@mcm/api';
import type { Lease } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import {
  assessControllers,
  ControllerObserver,
  type ControllerSource,
  controllerLines,
  doesAct,
  notActing,
} from './health.ts';

const NOW = new Date('2026-01-01T01:00:00Z');
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1_000);
const meta = (name: string) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: ago(3_600).toISOString(),
});

const lease = (name: string, renewedAgo: number, holderIdentity = 'host_1', leaseDurationSeconds = 15): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: meta(name),
  spec: { holderIdentity, leaseDurationSeconds, renewTime: ago(renewedAgo).toISOString().replace('Z', '000Z') },
});
const writtenBy = (changedAgo: number): object => ({
  managedFields: [
    { manager: 'kubectl', operation: 'Update', time: ago(changedAgo).toISOString() },
    { manager: 'mcm', operation: 'Update', subresource: 'status', time: ago(0).toISOString() },
  ],
});
/** The managed fields of a scaled deployment. The API server stores no time for a write to the scale subresource. */
const scaled = (changedAgo: number, statusAgo: number): object => ({
  managedFields: [
    { manager: 'kubectl', operation: 'Update', subresource: 'scale' },
    { manager: 'kubectl', operation: 'Update', time: ago(changedAgo).toISOString() },
    { manager: 'mcm', operation: 'Update', subresource: 'status', time: ago(statusAgo).toISOString() },
  ],
});
const deployment = (
  generation: number,
  observedGeneration: number | undefined,
  changedAgo: number,
  more: object = {},
) =>
  partial<MachineDeployment>({
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: {
      ...meta('web'),
      generation,
      ...writtenBy(changedAgo),
      ...more,
    },
    spec: {
      replicas: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
    status: observedGeneration === undefined ? {} : { observedGeneration },
  });

const source = (leases: readonly Lease[], deployments: readonly MachineDeployment[] = []): ControllerSource => ({
  leases: new Map(leases.map((each) => [each.metadata.name, each])),
  deployments,
});
const MANAGER = 'machine-controller-manager';
const alive = [lease(MANAGER, 3), lease('machine-controller', 3)];
const managerOf = (given: ControllerSource) => assessControllers(given, NOW).find(({ name }) => name === MANAGER);

describe('one reading', () => {
  test('controllers that renew their Leases count as working', () => {
    const healths = assessControllers(source(alive), NOW);
    expect(healths.map(({ name, state }) => [name, state])).toEqual([
      [MANAGER, 'acts'],
      ['machine-controller', 'acts'],
    ]);
    expect(controllerLines(healths, NOW)).toEqual([]);
  });

  test('a leader that does not renew its Lease for the lease duration counts as stopped since its last renewal', () => {
    const healths = assessControllers(source([lease(MANAGER, 190), lease('machine-controller', 3)]), NOW);
    expect(controllerLines(healths, NOW)).toEqual([
      'Controllers that are not working:',
      '  - machine-controller-manager is not working since 2026-01-01T00:56:50Z (3m)',
      '      the leader host_1 does not renew Lease test/machine-controller-manager',
      '      mcm rolls out no change, and scales no MachineDeployment or MachineSet',
      '      mcm replaces no failed or deleted machine',
      '  hint: check the logs of the controller, and restart its process if the process hangs',
    ]);
    expect([doesAct(healths, MANAGER), doesAct(healths, 'machine-controller')]).toEqual([false, true]);
  });

  test.each([
    [15, 'acts'],
    [15.5, 'stopped'],
  ])('a Lease of 15 s that was renewed %d s ago: %s', (seconds, state) => {
    expect(managerOf(source([lease(MANAGER, seconds)]))?.state).toBe(state);
  });

  test('the duration comes from the Lease', () => {
    expect(managerOf(source([lease(MANAGER, 50, 'host_1', 60)]))?.state).toBe('acts');
  });

  test.each([
    [5, 'acts'],
    [11, 'stopped'],
  ])('a Lease that was released %d s ago: %s', (seconds, state) => {
    expect(managerOf(source([lease(MANAGER, seconds, '', 1)]))).toMatchObject({ state });
  });

  test('a leader that does not process a change is behind, and only for that deployment', () => {
    const healths = assessControllers(source(alive, [deployment(3, 2, 90)]), NOW);
    expect(notActing(healths)).toMatchObject([{ name: MANAGER, state: 'behind', since: ago(90).toISOString() }]);
    expect(['web', 'other'].map((name) => doesAct(healths, MANAGER, name))).toEqual([false, true]);
    expect(doesAct(healths, MANAGER)).toBe(true);
  });

  test('a leader that does not process another change of a scaled deployment is behind', () => {
    const healths = assessControllers(source(alive, [deployment(3, 2, 90, scaled(90, 100))]), NOW);
    expect(controllerLines(healths, NOW)).toEqual([
      'Controllers that are not working:',
      '  - machine-controller-manager is behind since 2026-01-01T00:58:30Z (90s)',
      '      the controller has not processed the last change of machinedeployment web',
      '      mcm does not roll out or scale machinedeployment web',
      '  hint: check the logs of the controller, and restart its process if the process hangs',
    ]);
  });

  test.each([
    ['a fresh change', deployment(3, 2, 30)],
    ['a processed change', deployment(3, 3, 90)],
    ['a deployment that is being deleted', deployment(3, 2, 90, { deletionTimestamp: ago(80).toISOString() })],
    ['an invalid deployment', { ...deployment(3, 2, 90), spec: { ...deployment(3, 2, 90).spec, replicas: -1 } }],
    [
      'a refused deployment',
      { ...deployment(3, 2, 90), status: { conditions: [{ type: 'InvalidSpec', status: 'True' as const }] } },
    ],
    ['a change of unknown time', deployment(3, 2, 90, { managedFields: undefined })],
    ['a scale after the last status', deployment(3, 2, 90, scaled(90, 80))],
  ])('%s does not prove that a controller stopped', (_, each) => {
    expect(managerOf(source(alive, [each as MachineDeployment]))?.state).toBe('acts');
  });

  test('without a Lease, the state is unknown until an unprocessed object proves that the controller stopped', () => {
    expect(managerOf(source([]))?.state).toBe('unknown');
    expect(managerOf(source([], [deployment(1, undefined, 3_600)]))).toMatchObject({
      state: 'stopped',
      reason:
        'the Lease of the controller does not exist, and the last change of machinedeployment web is not processed',
    });
    const machine = { apiVersion: API_VERSION, kind: 'Machine', metadata: meta('m'), spec: {} } as Machine;
    const healths = assessControllers({ ...source([]), machines: [machine] }, NOW);
    expect(doesAct(healths, 'machine-controller')).toBe(false);
  });

  test('without a Lease, a deletion that has not started proves that the machine controller stopped', () => {
    const deleted = (seconds: number): Machine =>
      partial<Machine>({
        apiVersion: API_VERSION,
        kind: 'Machine',
        metadata: { ...meta('m'), finalizers: ['x'], deletionTimestamp: ago(seconds).toISOString() },
        status: { currentStatus: { phase: 'Running' }, lastOperation: { type: 'Create', state: 'Successful' } },
      });
    const stateOf = (machine: Machine, leases: readonly Lease[] = []) =>
      assessControllers({ ...source(leases), machines: [machine] }, NOW).find(
        ({ name }) => name === 'machine-controller',
      );
    expect(stateOf(deleted(60))).toMatchObject({
      state: 'stopped',
      since: ago(60).toISOString(),
      reason: 'the Lease of the controller does not exist, and the deletion of machine m has not started',
    });
    expect(stateOf(deleted(59))?.state).toBe('unknown');
    expect(stateOf(deleted(60), [lease('machine-controller', 1)])?.state).toBe('acts');
    const draining = partial<Machine>({ ...deleted(60), status: { lastOperation: { type: 'Delete' } } });
    expect(stateOf(draining)?.state).toBe('unknown');
  });

  test('a Lease that the user cannot read does not prove that a controller stopped', () => {
    const refused = new Map([[MANAGER, 'forbidden']]);
    expect(managerOf({ ...source([]), refused })).toMatchObject({
      state: 'unknown',
      reason: 'no permission to read the Lease of the controller (forbidden)',
    });
  });
});

describe('a watched cluster', () => {
  const at = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1_000);

  test('a holder whose clock is an hour behind counts as working while it renews its Lease', () => {
    const observer = new ControllerObserver();
    observer.assess(source([lease(MANAGER, 3_600)]), at(0));
    const states = [2, 4, 18, 20].map((second) => {
      const renewed = lease(MANAGER, 3_600 - Math.min(second, 4));
      return observer.assess(source([renewed]), at(second)).find(({ name }) => name === MANAGER)?.state;
    });
    expect(states).toEqual(['acts', 'acts', 'acts', 'stopped']);
  });

  test('a holder whose clock is an hour ahead is reported when it stops', () => {
    const observer = new ControllerObserver();
    observer.assess(source([lease(MANAGER, -3_600)]), at(0));
    observer.assess(source([lease(MANAGER, -3_602)]), at(2));
    const late = observer.assess(source([lease(MANAGER, -3_602)]), at(20));
    expect(notActing(late)).toMatchObject([{ name: MANAGER, since: at(2).toISOString() }]);
  });

  test('without managed fields, a change counts from its first observation', () => {
    const observer = new ControllerObserver();
    const changed = deployment(3, 2, 0, { managedFields: undefined });
    const held = (second: number) => [lease(MANAGER, -second)];
    expect(notActing(observer.assess(source(held(0), [changed]), at(0)))).toEqual([]);
    expect(notActing(observer.assess(source(held(30), [changed]), at(30)))).toEqual([]);
    expect(notActing(observer.assess(source(held(60), [changed]), at(60)))).toMatchObject([{ state: 'behind' }]);
    expect(
      notActing(observer.assess(source(held(62), [deployment(4, 2, 0, { managedFields: undefined })]), at(62))),
    ).toEqual([]);
  });
});
