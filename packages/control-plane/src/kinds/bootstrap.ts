import type { ApiObject } from '../object.ts';
import { SYSTEM_PRIORITIES } from './cluster/storage.ts';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
};

const FLOW = 'flowcontrol.apiserver.k8s.io/v1';
const exempt = { name: 'exempt', annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } };

const PRIORITIES: readonly ApiObject[] = Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  description: DESCRIPTIONS[name],
}));

/** Administrators wait in no queue. */
const FLOWS: readonly ApiObject[] = [
  {
    apiVersion: FLOW,
    kind: 'PriorityLevelConfiguration',
    metadata: exempt,
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  {
    apiVersion: FLOW,
    kind: 'FlowSchema',
    metadata: exempt,
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 1,
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: 'system:masters' } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  },
];

/** What a cluster has from the start beside its namespaces and its access rules. */
export const systemObjects: readonly ApiObject[] = [...PRIORITIES, ...FLOWS];
