import type { Shape } from '../contract/shape.ts';

const text: Shape = { type: 'string' };
const flag: Shape = { type: 'boolean' };
const integer: Shape = { type: 'integer' };
const quantity: Shape = { 'x-kubernetes-int-or-string': true };
const anything: Shape = { type: 'object' };
const nullableText: Shape = { type: 'string', nullable: true };
const nullableInteger: Shape = { type: 'integer', nullable: true };

const list = (items: Shape): Shape => ({ type: 'array', items });
const map = (additionalProperties: Shape): Shape => ({ type: 'object', additionalProperties });
const object = (properties: Readonly<Record<string, Shape>>, ...required: readonly string[]): Shape => ({
  type: 'object',
  properties,
  required,
});

const texts = list(text);
const textMap = map(text);
const quantities = map(quantity);
const conditions = list(
  object(
    {
      type: text,
      status: text,
      reason: text,
      message: text,
      lastHeartbeatTime: nullableText,
      lastTransitionTime: nullableText,
    },
    'type',
    'status',
  ),
);

const labelSelector = object({
  matchLabels: textMap,
  matchExpressions: list(object({ key: text, operator: text, values: texts }, 'key', 'operator')),
});

export const nodeShape = object(
  {
    spec: object({
      providerID: text,
      unschedulable: flag,
      podCIDR: text,
      podCIDRs: texts,
      taints: list(object({ key: text, value: text, effect: text, timeAdded: text }, 'key', 'effect')),
    }),
    status: object({
      addresses: list(object({ type: text, address: text }, 'type', 'address')),
      allocatable: quantities,
      capacity: quantities,
      conditions,
      phase: text,
      nodeInfo: anything,
      volumesAttached: list(object({ name: text, devicePath: text }, 'name')),
      volumesInUse: texts,
    }),
  },
  'spec',
);

const named = list(object({ name: text }, 'name'));

export const podShape = object(
  {
    spec: object({
      nodeName: text,
      priority: integer,
      priorityClassName: text,
      restartPolicy: text,
      terminationGracePeriodSeconds: integer,
      volumes: list(
        object(
          {
            name: text,
            persistentVolumeClaim: object({ claimName: text }, 'claimName'),
            emptyDir: anything,
            ephemeral: anything,
          },
          'name',
        ),
      ),
      containers: named,
      initContainers: named,
      tolerations: list(
        object({ key: text, operator: text, value: text, effect: text, tolerationSeconds: nullableInteger }),
      ),
    }),
    status: object({ phase: text, reason: text, conditions }),
  },
  'spec',
);

export const secretShape = object({ type: text, data: textMap, stringData: textMap });
export const configMapShape = object({ data: textMap });

export const persistentVolumeClaimShape = object(
  { spec: object({ volumeName: text, storageClassName: text }), status: object({ phase: text }) },
  'spec',
);

export const persistentVolumeShape = object(
  {
    spec: object({
      csi: object({ driver: text, volumeHandle: text }, 'driver', 'volumeHandle'),
      claimRef: object({ namespace: text, name: text }),
    }),
    status: object({ phase: text }),
  },
  'spec',
);

export const eventShape = object(
  {
    involvedObject: object({
      apiVersion: text,
      kind: text,
      name: text,
      namespace: text,
      uid: text,
      resourceVersion: text,
    }),
    reason: text,
    message: text,
    type: text,
    count: integer,
    firstTimestamp: nullableText,
    lastTimestamp: nullableText,
    source: object({ component: text, host: text }),
    reportingComponent: text,
    reportingInstance: text,
  },
  'involvedObject',
);

export const podDisruptionBudgetShape = object(
  {
    spec: object({
      selector: labelSelector,
      minAvailable: quantity,
      maxUnavailable: quantity,
      unhealthyPodEvictionPolicy: text,
    }),
    status: object({
      disruptionsAllowed: integer,
      currentHealthy: integer,
      desiredHealthy: integer,
      expectedPods: integer,
      disruptedPods: textMap,
      observedGeneration: integer,
    }),
  },
  'spec',
);

export const volumeAttachmentShape = object(
  {
    spec: object(
      {
        attacher: text,
        nodeName: text,
        source: object({ persistentVolumeName: text, inlineVolumeSpec: anything }),
      },
      'attacher',
      'nodeName',
      'source',
    ),
    status: object({ attached: flag, attachError: anything, detachError: anything }, 'attached'),
  },
  'spec',
);

const evictionTarget = object({ pod: object({ name: text, uid: text }, 'name', 'uid') });

export const evictionRequestShape = object(
  { spec: object({ intent: text, requester: text, target: evictionTarget }, 'intent', 'requester', 'target') },
  'spec',
);

export const evictionShape = object(
  {
    spec: object({ target: evictionTarget }, 'target'),
    status: object({
      conditions: list(object({ type: text, status: text }, 'type', 'status')),
      targetResponders: list(object({ name: text, priority: integer, state: text }, 'name')),
      responders: list(object({ name: text, message: text }, 'name')),
    }),
  },
  'spec',
);

export const csiNodeShape = object(
  {
    spec: object({
      drivers: {
        ...list(
          object({ name: text, nodeID: text, topologyKeys: texts, allocatable: object({ count: integer }) }, 'name'),
        ),
        nullable: true,
      },
    }),
  },
  'spec',
);

export const leaseShape = object({
  spec: object({
    holderIdentity: nullableText,
    acquireTime: nullableText,
    renewTime: nullableText,
    leaseDurationSeconds: nullableInteger,
    leaseTransitions: nullableInteger,
  }),
});

export const priorityClassShape = object({ value: integer }, 'value');

export const webhookConfigurationShape = object({
  webhooks: list(
    object(
      { name: text, clientConfig: object({ caBundle: text, url: text, service: anything }) },
      'name',
      'clientConfig',
    ),
  ),
});
