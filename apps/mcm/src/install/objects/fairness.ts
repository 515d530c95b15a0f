import { type InstallSettings, labelsOf, shared } from './settings.ts';

const GROUP = 'flowcontrol.apiserver.k8s.io/v1';

/**
 * Reserves a share of the API server for the controllers. In an overload, a controller that cannot renew its Lease or write
 * the progress of a drain would cause even more requests.
 */
export const fairness = ({ name, namespace, account, shares, app }: InstallSettings): readonly object[] => [
  {
    apiVersion: GROUP,
    kind: 'PriorityLevelConfiguration',
    metadata: { name: shared(name, namespace), labels: labelsOf({ app }) },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: shares,
        lendablePercent: 80,
        limitResponse: { type: 'Queue', queuing: { queues: 16, handSize: 4, queueLengthLimit: 200 } },
      },
    },
  },
  {
    apiVersion: GROUP,
    kind: 'FlowSchema',
    metadata: { name: shared(name, namespace), labels: labelsOf({ app }) },
    spec: {
      priorityLevelConfiguration: { name: shared(name, namespace) },
      matchingPrecedence: 800,
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: account, namespace } }],
          resourceRules: [{ apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true, verbs: ['*'] }],
          nonResourceRules: [{ nonResourceURLs: ['*'], verbs: ['*'] }],
        },
      ],
    },
  },
];
