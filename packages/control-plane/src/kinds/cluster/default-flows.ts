import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';

/** The field manager of flow schemas and priority levels in kube-apiserver. */
export const FLOW_MANAGER = 'api-priority-and-fairness-config-producer-v1';

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
const metadataOf = (name: string): ApiObject['metadata'] => ({
  name,
  annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' },
});

type Queuing = readonly [queues: number, handSize: number, queueLengthLimit: number];

/** A level without queues refuses additional requests. */
const LEVELS: readonly (readonly [name: string, shares: number, lendable: number, queuing?: Queuing])[] = [
  ['leader-election', 10, 0, [16, 4, 50]],
  ['node-high', 40, 25, [64, 6, 50]],
  ['system', 30, 33, [64, 6, 50]],
  ['workload-high', 40, 50, [128, 6, 50]],
  ['workload-low', 100, 90, [128, 6, 50]],
  ['global-default', 20, 50, [128, 6, 50]],
  ['catch-all', 5, 0],
];

function limitResponse(queuing: Queuing | undefined): object {
  if (queuing === undefined) return { type: 'Reject' };
  const [queues, handSize, queueLengthLimit] = queuing;
  return { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } };
}

const level = (name: string, spec: object): ApiObject => ({
  apiVersion,
  kind: 'PriorityLevelConfiguration',
  metadata: metadataOf(name),
  spec,
});

const levels: readonly ApiObject[] = [
  level('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
  ...LEVELS.map(([name, nominalConcurrencyShares, lendablePercent, queuing]) =>
    level(name, {
      type: 'Limited',
      limited: { nominalConcurrencyShares, limitResponse: limitResponse(queuing), lendablePercent },
    }),
  ),
];

const group = (name: string): object => ({ kind: 'Group', group: { name } });
const user = (name: string): object => ({ kind: 'User', user: { name } });
const systemAccounts = { kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'kube-system' } };
const everybody = [group('system:unauthenticated'), group('system:authenticated')];

const resourceRule = (
  apiGroup: string,
  resources: readonly string[],
  verbs: readonly string[],
  scope = {},
): object => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
  ...scope,
  namespaces: ['*'],
});
const clusterWide = { clusterScope: true };
const everything = {
  resourceRules: [resourceRule('*', ['*'], ['*'], clusterWide)],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const leases = (verbs: readonly string[]): object => resourceRule('coordination.k8s.io', ['leases'], verbs);

interface Flow {
  readonly level: string;
  readonly precedence: number;
  /** The property of a request that selects the flow. Without `by`, all requests belong to one flow. */
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly subjects: readonly object[];
  readonly requests: object;
}

const FLOWS: Readonly<Record<string, Flow>> = {
  exempt: { level: 'exempt', precedence: 1, subjects: [group('system:masters')], requests: everything },
  probes: {
    level: 'exempt',
    precedence: 2,
    subjects: everybody,
    requests: { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }] },
  },
  'system-leader-election': {
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), systemAccounts],
    requests: { resourceRules: [leases(['get', 'create', 'update'])] },
  },
  'system-node-high': {
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    subjects: [group('system:nodes')],
    requests: { resourceRules: [resourceRule('', ['nodes', 'nodes/status'], ['*'], clusterWide), leases(['*'])] },
  },
  'system-nodes': {
    level: 'system',
    precedence: 500,
    by: 'ByUser',
    subjects: [group('system:nodes')],
    requests: everything,
  },
  'kube-controller-manager': {
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: [user('system:kube-controller-manager')],
    requests: everything,
  },
  'kube-scheduler': {
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: [user('system:kube-scheduler')],
    requests: everything,
  },
  'kube-system-service-accounts': {
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    subjects: [systemAccounts],
    requests: everything,
  },
  'service-accounts': {
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    subjects: [group('system:serviceaccounts')],
    requests: everything,
  },
  'global-default': {
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    subjects: everybody,
    requests: everything,
  },
  'catch-all': { level: 'catch-all', precedence: 10_000, by: 'ByUser', subjects: everybody, requests: everything },
};

const flows: readonly ApiObject[] = Object.entries(FLOWS).map(
  ([name, { precedence, by, subjects, requests, ...flow }]) => ({
    apiVersion,
    kind: 'FlowSchema',
    metadata: metadataOf(name),
    spec: defined({
      priorityLevelConfiguration: { name: flow.level },
      matchingPrecedence: precedence,
      distinguisherMethod: by === undefined ? undefined : { type: by },
      rules: [{ subjects, ...requests }],
    }),
  }),
);

/**
 * The mandatory and suggested flow schemas and priority levels of kube-apiserver.
 * @see kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap
 */
export const defaultFlows: readonly ApiObject[] = [...levels, ...flows];
