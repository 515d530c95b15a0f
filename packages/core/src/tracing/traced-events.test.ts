import { Annotations } from '@mcm/api';
import { type EventOptions, type KubeObject, traceIdOf } from '@mcm/kube';
import { expect, test } from 'vitest';
import { withTraceIds } from './traced-events.ts';

const object = (kind: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind,
  metadata: {
    name: 'a',
    uid: 'uid-a',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations: { [Annotations.Revision]: '3' },
    ...metadata,
  },
});
const owner = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineDeployment',
  name: 'd',
  uid: 'uid-d',
  controller: true,
};

test.each([
  ['a Machine', object('Machine'), traceIdOf('machine', 'uid-a')],
  ['a MachineDeployment', object('MachineDeployment'), traceIdOf('rollout', 'uid-a', '3')],
  ['a MachineSet', object('MachineSet', { ownerReferences: [owner] }), traceIdOf('rollout', 'uid-d', '3')],
  ['a set without an owner', object('MachineSet'), undefined],
  ['a MachineClass', object('MachineClass'), undefined],
])('an event of %s has the trace of the object', (_what, about, id) => {
  const given: (EventOptions | undefined)[] = [];
  const recorder = withTraceIds({
    event: (_object, _type, _reason, _message, options) => void given.push(options),
    flush: async () => undefined,
  });
  recorder.event(about, 'Normal', 'Created', 'text', { once: true });
  expect(given).toEqual([{ once: true, annotations: id === undefined ? undefined : { [Annotations.TraceId]: id } }]);
});
