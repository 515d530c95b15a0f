import type { ApiObject } from '../apimachinery/objects/object.ts';
import { defaultFlows, FLOW_MANAGER } from './cluster/default-flows.ts';
import { SYSTEM_PRIORITIES } from './cluster/storage.ts';
import { SERVICE_RANGE } from './core/service-ports.ts';

export interface SystemObject {
  readonly object: ApiObject;
  readonly fieldManager: string;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
};

const PRIORITIES: readonly ApiObject[] = Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  description: DESCRIPTIONS[name],
}));

const RANGE: ApiObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: [SERVICE_RANGE] },
};

const by = (fieldManager: string, objects: readonly ApiObject[]): SystemObject[] =>
  objects.map((object) => ({ object, fieldManager }));

export const systemObjects: readonly SystemObject[] = [
  ...by('kube-apiserver', [...PRIORITIES, RANGE]),
  ...by(FLOW_MANAGER, defaultFlows),
];
