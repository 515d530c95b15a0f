import { Finalizers } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import { expect, test } from 'vitest';
import { planFinalizer } from './reconciler.ts';

const OURS = Finalizers.MachineControllerManager;
const object = (finalizers: string[], deletionTimestamp?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    name: 'a',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    finalizers,
    ...(deletionTimestamp ? { deletionTimestamp } : {}),
  },
});

test.each<[row: string, object: KubeObject, users: number, verb: string]>([
  ['S-MC1 no finalizer, one user', object([]), 1, 'add'],
  ['finalizer and user', object([OURS]), 1, 'leave'],
  ['S-MC4 being deleted, finalizer, one user: it waits', object([OURS], 'now'), 1, 'leave'],
  ['S-MC5 being deleted, finalizer, only users of others', object([OURS], 'now'), 0, 'remove'],
  ['S-MC6 being deleted, no finalizer', object([], 'now'), 0, 'leave'],
  ['being deleted, no finalizer, one user: no finalizer can be added', object(['other'], 'now'), 1, 'leave'],
  ['no more users', object([OURS]), 0, 'remove'],
])('%s', (_row, thing, users, verb) => {
  expect(planFinalizer(thing, OURS, users)).toBe(verb);
});

test('a Secret that a class refers to [S-SE1]', () => {
  expect(planFinalizer(object([]), Finalizers.Secret, 1)).toBe('add');
  expect(Finalizers.Secret).toBe('machine.sapcloud.io/machine-controller');
});
