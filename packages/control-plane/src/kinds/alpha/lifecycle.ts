import type { JsonSchema, KindDefinition, PrinterColumn } from '../../apimachinery/objects/kind.ts';

export const LIFECYCLE = 'lifecycle.k8s.io/v1alpha1';

const KEY: JsonSchema = {
  type: 'string',
  maxLength: 317,
  pattern:
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$',
};

const TIME: JsonSchema = { type: 'string', format: 'date-time' };

const immutable = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'field is immutable' }],
});

const object = (properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

const named = (items: JsonSchema, maxItems: number, more: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  maxItems,
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  ...more,
});

const POD = object(
  {
    name: {
      type: 'string',
      maxLength: 253,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    },
    uid: { type: 'string', pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' },
  },
  ['name', 'uid'],
);

const TARGET = immutable(object({ pod: POD }, ['pod']));

const INTENT: JsonSchema = { type: 'string', enum: ['Eviction', 'Withdrawn'] };

const CONDITION = object(
  {
    type: { type: 'string', maxLength: 316 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: TIME,
    reason: { type: 'string', minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
    message: { type: 'string', maxLength: 32_768 },
  },
  ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
);

const CONDITIONS: JsonSchema = {
  type: 'array',
  maxItems: 100,
  items: CONDITION,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
};

const OBSERVED: JsonSchema = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'cannot decrement' }],
};

const TARGET_RESPONDER = object(
  {
    name: KEY,
    priority: immutable({ type: 'integer', format: 'int32', minimum: 0, maximum: 100_000 }),
    state: { type: 'string', enum: ['Inactive', 'Active', 'Interrupted', 'Canceled', 'Completed'] },
  },
  ['name', 'priority', 'state'],
);

const RESPONDER = object(
  {
    name: KEY,
    startTime: TIME,
    heartbeatTime: TIME,
    expectedCompletionTime: TIME,
    completionTime: immutable(TIME),
    message: { type: 'string', maxLength: 4000 },
  },
  ['name'],
);

const EVICTION_STATUS: JsonSchema = {
  ...object({
    observedGeneration: OBSERVED,
    conditions: {
      ...CONDITIONS,
      'x-kubernetes-validations': [
        {
          rule: "oldSelf.all(o, o.status != 'True' || self.exists(n, n.type == o.type && n.status == 'True'))",
          message: 'a condition that is True cannot be reverted',
        },
      ],
    },
    requesters: named(object({ name: KEY, intent: INTENT }, ['name', 'intent']), 100),
    targetResponders: named(TARGET_RESPONDER, 11, {
      'x-kubernetes-validations': [
        {
          rule: 'self.size() == oldSelf.size() && self.all(n, oldSelf.exists(o, o.name == n.name))',
          message: 'must preserve the same length and the same keys',
        },
        { rule: "self.filter(n, n.state == 'Active').size() <= 1", message: 'at most one responder can be Active' },
      ],
    }),
    responders: named(RESPONDER, 11),
  }),
  'x-kubernetes-validations': [
    {
      rule: '!has(self.responders) || (has(self.targetResponders) && self.responders.all(r, self.targetResponders.exists(t, t.name == r.name)))',
      message: 'each responder must be in targetResponders',
    },
  ],
};

const column = (name: string, jsonPath: string): PrinterColumn => ({ name, type: 'string', jsonPath });
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const TARGET_COLUMN = column('Pod', '.spec.target.pod.name');

function kind(
  name: string,
  plural: string,
  spec: JsonSchema,
  status: JsonSchema,
  columns: readonly PrinterColumn[],
): KindDefinition {
  const [group = '', version = ''] = LIFECYCLE.split('/');
  return {
    group,
    version,
    versions: [version],
    kind: name,
    listKind: `${name}List`,
    plural,
    singular: name.toLowerCase(),
    namespaced: true,
    custom: true,
    hasGeneration: true,
    subresources: { status: true },
    requiresResourceVersion: true,
    columns,
    schema: object(
      { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec, status },
      ['spec'],
    ),
  };
}

/**
 * Alpha kinds of Kubernetes 1.37 that request the eviction of pods (KEP-4563). The client library does not contain
 * these alpha kinds yet, so their schemas are in this file.
 */
export const lifecycleKinds: readonly KindDefinition[] = [
  kind(
    'EvictionRequest',
    'evictionrequests',
    object({ intent: INTENT, requester: immutable(KEY), target: TARGET }, ['intent', 'requester', 'target']),
    object({ observedGeneration: OBSERVED, conditions: CONDITIONS }),
    [TARGET_COLUMN, column('Requester', '.spec.requester'), column('Intent', '.spec.intent'), AGE],
  ),
  kind('Eviction', 'evictions', object({ target: TARGET }, ['target']), EVICTION_STATUS, [
    TARGET_COLUMN,
    column('Responder', '.status.targetResponders[?(@.state=="Active")].name'),
    AGE,
  ]),
];
