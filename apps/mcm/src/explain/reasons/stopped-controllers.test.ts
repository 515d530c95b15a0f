import { API_VERSION, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import type { ControllerHealth, ControllerName } from '../../controllers/health.ts';
import { viewFleet } from '../../screen/fleet.ts';
import { FleetLines } from '../../screen/lines.ts';
import { fleetTree, treeLines } from '../../tree/tree.ts';
import { explainDeployment } from '../deployment/deployment.ts';
import { deploymentLines } from '../deployment/deployment-lines.ts';
import { explanationUnder, ROLLOUT_CONTINUES } from './stopped-controllers.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();
const meta = (name: string, kind?: string, owner?: string) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: at(-600),
  ...(owner && {
    ownerReferences: [
      { apiVersion: API_VERSION, kind: kind ?? '', name: owner, uid: `uid-${owner}`, controller: true },
    ],
  }),
});
const template = { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
const selector = { matchLabels: { app: 'pool' } };
const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
const deployment = {
  apiVersion: API_VERSION,
  kind: 'MachineDeployment',
  metadata: meta('pool'),
  spec: { replicas: 3, selector, template, strategy },
} as MachineDeployment;
const set = {
  apiVersion: API_VERSION,
  kind: 'MachineSet',
  metadata: meta('pool-a', 'MachineDeployment', 'pool'),
  spec: { replicas: 2, selector, template },
} as MachineSet;
const machine = {
  apiVersion: API_VERSION,
  kind: 'Machine',
  metadata: meta('m-1', 'MachineSet', 'pool-a'),
  spec: template.spec,
  status: {
    currentStatus: { phase: 'Unknown', lastUpdateTime: at(-5) },
    lastOperation: { description: 'Machine m-1 is unhealthy - changing MachinePhase to Unknown' },
  },
} as Machine;

const stopped = (name: ControllerName): ControllerHealth => ({
  name,
  state: 'stopped',
  since: at(-3),
  reason: 'the leader host_1 does not renew Lease test/x',
  effects: ['nothing is done'],
  unprocessed: [],
});
const explain = (controllers: readonly ControllerHealth[]) => {
  const fleet = [machine];
  const machines = new Map([[set.metadata.uid, fleet]]);
  return explainDeployment({ deployment, sets: [set], machines, fleet, controllers }, NOW);
};
const linesOf = (controllers: readonly ControllerHealth[]): string =>
  deploymentLines(explain(controllers), NOW).join('\n');

test.each<[controllers: readonly ControllerHealth[], hint: string]>([
  [[], 'create MachineClass small; after the change, the rollout continues'],
  [[stopped('machine-controller-manager')], 'create MachineClass small'],
])(
  'with the controllers %j, a hint of a deployment ends with the next step of a working manager',
  (controllers, hint) => {
    const known = { name: 'pool', next: 'n', changes: [], waitsFor: [] };
    const hints = [`create MachineClass small; ${ROLLOUT_CONTINUES}`];
    expect(explanationUnder({ ...known, hints }, controllers).hints).toEqual([hint]);
  },
);

describe('explain', () => {
  test('explain announces the next step and the replacement while the controllers work', () => {
    expect(linesOf([])).toContain('mcm scales MachineSet pool-a from 2 to 3 machines');
    expect(linesOf([])).toContain('the machine may be Failed and replaced');
  });

  test('explain announces no action of a stopped manager', () => {
    const lines = linesOf([stopped('machine-controller-manager')]);
    expect(lines).toContain('  next   no step, because machine-controller-manager is not working\n');
    expect(lines).toContain(
      '  - machine-controller-manager is not working since 2026-01-01T11:57:00Z (3m)\n      the leader host_1 does not renew Lease test/x\n      nothing is done',
    );
    expect(lines).not.toMatch(/mcm scales|and replaced/);
    expect(lines).toContain(
      'the machine may be Failed, but mcm does not replace the machine while machine-controller-manager is not working',
    );
  });

  test('explain announces no deadline of a stopped machine controller', () => {
    const lines = linesOf([stopped('machine-controller')]);
    expect(lines).toContain('machine-controller is not working; last report: the machine is unhealthy');
    expect(lines).not.toContain('the machine may be Failed');
    expect(lines).toContain('mcm scales MachineSet pool-a from 2 to 3 machines');
  });

  test('explain announces no next step for the deployment that a manager is behind with', () => {
    const behind = (name: string): ControllerHealth => ({
      ...stopped('machine-controller-manager'),
      state: 'behind',
      unprocessed: [name],
    });
    expect(explain([behind('pool')]).next).toBe('no step, because machine-controller-manager is not working');
    expect(explain([behind('other')]).changes).toEqual(['mcm scales MachineSet pool-a from 2 to 3 machines']);
  });
});

test('the tree marks the status from a stopped machine controller as its last report', () => {
  const source = { deployments: [deployment], sets: [set], machines: [machine], nodes: undefined };
  const linesUnder = (controllers: readonly ControllerHealth[]) =>
    treeLines(fleetTree(source, { controllersIn: () => controllers }), false, NOW).join('\n');
  expect(linesUnder([stopped('machine-controller')])).toContain('– machine-controller is not working; last report: ');
  expect(linesUnder([])).not.toContain('last report');
});

test('the lines of up report once that a controller stopped, and that it is working again', () => {
  const lines = new FleetLines();
  const next = (controllers: readonly ControllerHealth[]) =>
    lines.next(viewFleet([deployment], [set], [machine], [], controllers), NOW);
  next([]);
  expect(next([stopped('machine-controller-manager')])).toEqual([
    expect.stringMatching(/^machine-controller-manager is not working since /),
    '  nothing is done',
  ]);
  expect(next([stopped('machine-controller-manager')])).toEqual([]);
  expect(next([])).toEqual(['controller machine-controller-manager is working again']);
  next([{ ...stopped('machine-controller-manager'), name: 'local-cloud' }]);
  expect(next([])).toEqual(['program local-cloud is working again']);
});

test('the lines of up report no recovery of a controller while the API server does not respond', () => {
  const lines = new FleetLines();
  const next = (names: readonly string[]) => {
    const controllers = names.map((name) => ({ ...stopped('machine-controller-manager'), name }));
    return lines
      .next(viewFleet([deployment], [set], [machine], [], controllers), NOW)
      .filter((line) => /working/.test(line));
  };
  const isStopped = (name: string) => expect.stringMatching(new RegExp(`^${name} is not working`));
  next([]);
  expect(next(['machine-controller-manager'])).toEqual([isStopped('machine-controller-manager')]);
  expect(next(['control-plane'])).toEqual([isStopped('control-plane')]);
  expect(next(['machine-controller-manager'])).toEqual(['program control-plane is working again']);
  expect(next([])).toEqual(['controller machine-controller-manager is working again']);
});
