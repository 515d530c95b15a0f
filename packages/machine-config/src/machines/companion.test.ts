import { Annotations, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { planRelease } from './companion.ts';

const machineWith = (annotations: Record<string, string>) =>
  ({ metadata: { name: 'm', annotations } }) as unknown as Machine;
const nodeWith = (annotations: Record<string, string>) => ({ metadata: { name: 'm', annotations } }) as unknown as Node;

test('what a pool left behind goes: state, time, rank and hold; what others set stays', () => {
  const { PriorityLowered, ConfigState, UpdateInProgressUntil, ScaleDownDisabledByUs } = ConfigAnnotations;
  const left = {
    [ConfigState]: 'Unreconcilable',
    [UpdateInProgressUntil]: 'x',
    [PriorityLowered]: 'true',
    [Annotations.Priority]: '1',
  };
  const held = { [Annotations.ScaleDownDisabled]: 'true', [ScaleDownDisabledByUs]: 'true', other: 'x' };
  expect(planRelease(machineWith(left), nodeWith(held))).toEqual({
    machine: {
      [ConfigState]: null,
      [UpdateInProgressUntil]: null,
      [PriorityLowered]: null,
      [Annotations.Priority]: '3',
    },
    node: { [Annotations.ScaleDownDisabled]: null, [ScaleDownDisabledByUs]: null },
  });
});

test('a machine that never was of a pool, and marks of somebody else, are not written', () => {
  const others = { [Annotations.Priority]: '1' };
  const nothing = { machine: {}, node: {} };
  expect(planRelease(machineWith(others), nodeWith({ [Annotations.ScaleDownDisabled]: 'true' }))).toEqual(nothing);
  expect(planRelease(machineWith({}), undefined)).toEqual(nothing);
});
