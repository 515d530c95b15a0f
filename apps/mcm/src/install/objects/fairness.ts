import { CONTROLLER_APP, FLEET_APP, type InstallSettings, labelsOf, shared } from './settings.ts';

const GROUP = 'flowcontrol.apiserver.k8s.io/v1';

/** Returns the FlowSchema that assigns the requests of a ServiceAccount to the reserved share of the API server. */
const flowSchema = (of: string, account: string, { name, namespace, app }: InstallSettings): object => ({
  apiVersion: GROUP,
  kind: 'FlowSchema',
  metadata: { name: shared(of, namespace), labels: labelsOf({ app }) },
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
});

/** Reserves a share of the API server's capacity for the controllers. */
export const fairness = (settings: InstallSettings): readonly object[] => [
  {
    apiVersion: GROUP,
    kind: 'PriorityLevelConfiguration',
    metadata: { name: shared(settings.name, settings.namespace), labels: labelsOf(settings) },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: settings.shares,
        lendablePercent: 80,
        limitResponse: { type: 'Queue', queuing: { queues: 16, handSize: 4, queueLengthLimit: 200 } },
      },
    },
  },
  flowSchema(settings.name, settings.accounts.manager, settings),
];

/** Assigns the requests of a separate machine controller to the reserved share of the API server. */
export const separateFairness = (settings: InstallSettings): object =>
  flowSchema(CONTROLLER_APP, settings.accounts.controller, settings);

/** Assigns the requests of a fleet to the reserved share of the API server. */
export const fleetFairness = (settings: InstallSettings): object =>
  flowSchema(FLEET_APP, settings.accounts.fleet, settings);
