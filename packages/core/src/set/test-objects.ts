import {
  Annotations,
  API_VERSION,
  formatTime,
  type Machine,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
} from '@mcm/api';
import type { LostState } from '../objects/machines.ts';

export const NOW = new Date('2026-01-01T12:00:00Z');

export const minutes = (offset: number): string => formatTime(new Date(NOW.getTime() + offset * 60_000));

let serial = 0;

const metadata = (name: string, ageMinutes: number) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: String(++serial),
  generation: 1,
  creationTimestamp: minutes(-ageMinutes),
});

export interface MachineOptions {
  readonly phase?: MachinePhase | undefined;
  readonly age?: number;
  readonly priority?: string;
  readonly marked?: number;
  readonly preservedUntil?: number;
  readonly preserve?: string;
  readonly labels?: Record<string, string>;
  readonly deleting?: boolean;
  readonly undrained?: boolean;
  readonly lostState?: LostState;
  readonly owner?: MachineSet;
}

export function machine(name: string, options: MachineOptions = {}): Machine {
  const {
    phase,
    age = 60,
    priority,
    marked,
    preservedUntil,
    preserve,
    labels,
    deleting,
    undrained,
    lostState,
    owner,
  } = options;
  return {
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: {
      ...metadata(name, age),
      labels: { app: 'pool', ...labels },
      annotations: {
        ...(priority === undefined ? {} : { [Annotations.Priority]: priority }),
        ...(marked === undefined ? {} : { [Annotations.MarkedForDeletionTime]: minutes(marked) }),
        ...(preserve === undefined ? {} : { [Annotations.Preserve]: preserve }),
        ...(undrained ? { [Annotations.Undrained]: 'Hold' } : {}),
        ...(lostState === undefined ? {} : { [Annotations.Replacement]: lostState === 'served' ? 'true' : lostState }),
      },
      ...(deleting ? { deletionTimestamp: minutes(0) } : {}),
      ...(owner
        ? {
            ownerReferences: [
              {
                apiVersion: API_VERSION,
                kind: 'MachineSet',
                name: owner.metadata.name,
                uid: owner.metadata.uid,
                controller: true,
              },
            ],
          }
        : {}),
    },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
    status: {
      currentStatus: {
        ...(phase === undefined ? {} : { phase }),
        ...(preservedUntil === undefined ? {} : { preserveExpiryTime: minutes(preservedUntil) }),
      },
    },
  };
}

export const machinesOf = (count: number, phase: MachinePhase, prefix = 'm', options: MachineOptions = {}): Machine[] =>
  Array.from({ length: count }, (_, index) => machine(`${prefix}${index}`, { ...options, phase }));

export function set(
  name: string,
  replicas: number,
  options: {
    age?: number;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    className?: string;
    hash?: string;
  } = {},
): MachineSet {
  const labels = { app: 'pool', 'machine-template-hash': options.hash ?? name };
  return {
    apiVersion: API_VERSION,
    kind: 'MachineSet',
    metadata: {
      ...metadata(name, options.age ?? 60),
      labels: { ...labels, ...options.labels },
      annotations: { ...options.annotations },
    },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: options.className ?? 'small' } } },
    },
  };
}

export function deployment(
  replicas: number,
  options: Partial<MachineDeployment['spec']> & {
    className?: string;
    annotations?: Record<string, string>;
    status?: MachineDeployment['status'];
  } = {},
): MachineDeployment {
  const { className = 'small', annotations, status, ...spec } = options;
  return {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: { ...metadata('pool', 120), annotations: { ...annotations } },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'pool' } },
      template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: className } } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}
