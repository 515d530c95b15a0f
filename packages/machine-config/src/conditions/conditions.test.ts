import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import { planPool } from '../pool/plan.ts';
import { conditionOf, withCondition } from './conditions.ts';

const condition = (
  type: string,
  status: 'True' | 'False',
  message: string,
  lastTransitionTime: string,
): ConfigCondition => ({
  type,
  status,
  reason: '',
  message,
  lastTransitionTime,
});
const first = condition('Updating', 'False', 'first', 't1');
const other = condition('Updated', 'True', 'other', 't2');
const last = condition('Updating', 'True', 'last', 't3');

test('if there are several conditions of one type, the last one counts', () => {
  expect(conditionOf([first, other, last], 'Updating')).toEqual(last);
});

test('a condition that equals the last of its type changes nothing', () => {
  const conditions = [first, other, last];
  expect(withCondition(conditions, { type: 'Updating', status: 'True', message: 'last' }, 'now')).toBe(conditions);
});

test('a condition replaces all of its type, and keeps the time of the last one while the status stays', () => {
  const same = withCondition([first, other, last], { type: 'Updating', status: 'True', message: 'new' }, 'now');
  expect(same).toEqual([other, condition('Updating', 'True', 'new', 't3')]);
  const changed = withCondition([first, other, last], { type: 'Updating', status: 'False', message: 'first' }, 'now');
  expect(changed).toEqual([other, condition('Updating', 'False', 'first', 'now')]);
});

test('a pool without a ControllerConfig fails with the message of the original', () => {
  const pool = partial<MachineConfigPool>({ metadata: { name: 'worker' }, spec: { configuration: { name: 'r' } } });
  const facts = { pools: [pool], nodes: [], controllerConfig: undefined, machineConfig: () => undefined, now: 'now' };
  expect(planPool({ pool, ...facts }).error).toBe(
    'error getting controllerconfig "machine-config-controller", error: ' +
      'controllerconfig.machineconfiguration.openshift.io "machine-config-controller" not found',
  );
});
