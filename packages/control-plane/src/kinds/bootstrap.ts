import type { ApiObject } from '../object.ts';
import { SYSTEM_PRIORITIES } from './cluster/storage.ts';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
};

/** What a cluster has from the start beside its namespaces and its access rules: the priorities of system pods. */
export const systemObjects: readonly ApiObject[] = Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  description: DESCRIPTIONS[name],
}));
