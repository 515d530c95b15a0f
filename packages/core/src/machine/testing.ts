import type { Machine, MachineStatus } from '@mcm/api';
import { Finalizers } from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';

export const NOON = new Date('2026-01-01T12:00:00Z');

export const at = (minutes: number): string =>
  new Date(NOON.getTime() + minutes * 60_000).toISOString().replace('.000Z', 'Z');

export interface MachineParts {
  readonly name?: string;
  readonly metadata?: Partial<Machine['metadata']>;
  readonly spec?: Partial<Machine['spec']>;
  readonly status?: MachineStatus;
}

export const machine = ({ name = 'machine-0', metadata, spec, status }: MachineParts = {}): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: {
    name,
    namespace: 'test',
    uid: `uid-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: at(0),
    finalizers: [Finalizers.MachineControllerManager],
    ...metadata,
  },
  spec: { class: { kind: 'MachineClass', name: 'small' }, ...spec },
  ...(status ? { status } : {}),
});

export interface NodeParts {
  readonly name?: string;
  readonly metadata?: Partial<Node['metadata']>;
  readonly spec?: Node['spec'];
  readonly conditions?: Condition[];
  readonly status?: Partial<NonNullable<Node['status']>>;
}

export const node = ({
  name = 'fakeNode-0',
  metadata,
  spec = {},
  conditions = hc('True'),
  status,
}: NodeParts = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: at(0), ...metadata },
  spec,
  status: { conditions, ...status },
});

export const hc = (ready: Condition['status'], since = at(0)): Condition[] => [
  condition('Ready', ready, since),
  ...['KernelDeadlock', 'ReadonlyFilesystem', 'DiskPressure', 'NetworkUnavailable'].map((type) =>
    condition(type, 'False', since),
  ),
];

export const condition = (type: string, status: Condition['status'], since = at(0)): Condition => ({
  type,
  status,
  lastTransitionTime: since,
});
