import type { Machine, MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { planCompanion } from './companion.ts';
import type { PoolMembers } from './members.ts';
import { deploymentWrites, releaseWrites } from './replace.ts';

const { TemplateConfig, ConfigApplied, AwaitedByPool } = ConfigAnnotations;
const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

const pool = partial<MachineConfigPool>({
  metadata: { name: 'worker' },
  spec: { updateStrategy: 'Replace', configuration: { name: 'two' } },
});

const nodeIn = (state: string, current = 'one'): Node =>
  partial<Node>({
    metadata: { name: 'n', annotations: { [CurrentConfig]: current, [DesiredConfig]: 'one', [State]: state } },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
const machineWith = (annotations: Record<string, string>): Machine =>
  partial<Machine>({ metadata: { name: 'm', annotations } });

function writesFor(machine: Machine, node: Node, marks: Record<string, string> = {}, closed = false) {
  const deployment = partial<MachineDeployment>({
    metadata: { name: 'd', namespace: 'x', uid: 'u', annotations: marks },
    spec: { template: {} },
  });
  const members = partial<PoolMembers>({
    refs: [{ ref: {}, found: { deployment } }],
    nodes: [node],
    machineOf: new Map([['n', machine]]),
  });
  return deploymentWrites(pool, members, () => undefined, closed).map(({ body }) => body);
}

test('outside of the windows of the pool, the template stays', () => {
  const marks = { [AwaitedByPool]: 'worker' };
  expect(writesFor(machineWith({}), nodeIn('Done'), marks, true)).toEqual([]);
  expect(writesFor(machineWith({}), nodeIn('Done'), marks, false)).toHaveLength(1);
});

test('the annotation that delays a rollout is in the same write as the template that starts it', () => {
  expect(writesFor(machineWith({}), nodeIn('Done'))).toEqual([
    {
      metadata: { annotations: { [AwaitedByPool]: 'worker' } },
      spec: { template: { metadata: { annotations: { [TemplateConfig]: 'two' } } } },
    },
  ]);
  const [again] = writesFor(machineWith({}), nodeIn('Done'), { [AwaitedByPool]: 'worker' });
  expect(again?.metadata).toBeUndefined();
});

test('no rollout waits for the marks of machines that have applied a configuration, because it would treat them as idle', () => {
  const unmarked = machineWith({ [TemplateConfig]: 'one' });
  expect(writesFor(unmarked, nodeIn('Done'))[0]?.metadata).toBeUndefined();
  expect(writesFor(unmarked, nodeIn('Degraded', 'zero'))[0]?.metadata).toBeDefined();
  const marked = machineWith({ [TemplateConfig]: 'one', [ConfigApplied]: 'true' });
  expect(writesFor(marked, nodeIn('Done'))[0]?.metadata).toBeDefined();
});

test('a machine is marked when its node has applied a configuration, and stays marked', () => {
  const marksOf = (annotations: Record<string, string>, node: Node) =>
    planCompanion(machineWith(annotations), node, 0).machine[ConfigApplied];
  const made = { [TemplateConfig]: 'one' };
  expect(marksOf(made, nodeIn('Done'))).toBe('true');
  expect(marksOf(made, nodeIn('Done', 'zero'))).toBeUndefined();
  expect(marksOf(made, nodeIn('Degraded'))).toBeUndefined();
  expect(marksOf({}, nodeIn('Done'))).toBeUndefined();
  expect(marksOf({ ...made, [ConfigApplied]: 'true' }, nodeIn('Degraded'))).toBeUndefined();
});

test('a pool that no longer refers to a deployment removes its own annotation, and not that of another pool', () => {
  const deployment = (by: string) =>
    partial<MachineDeployment>({
      metadata: { name: 'd', namespace: 'x', uid: 'u', annotations: { [AwaitedByPool]: by } },
      spec: {},
    });
  const released = (by: string, referred: readonly string[]) =>
    releaseWrites('worker', [deployment(by)], { referred: new Set(referred), replaces: false }).map(({ body }) => body);
  expect(released('worker', [])).toEqual([{ metadata: { annotations: { [AwaitedByPool]: null } } }]);
  expect(released('worker', ['u'])).toEqual([]);
  expect(released('infra', [])).toEqual([]);
});
