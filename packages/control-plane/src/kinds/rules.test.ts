import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';

/** Each body in this test differs from a valid body in one field. */

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  await send('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => plane.close());

type Json = Record<string, unknown>;

async function send(path: string, body: Json): Promise<{ code: number; body: Json }> {
  const headers = { 'content-type': 'application/json' };
  const request = new Request(`https://plane${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await plane.fetch(request);
  return { code: answer.status, body: (await answer.json()) as Json };
}

/** Returns a copy of a body with another value at a path. */
function changed(body: Json, path: string, value: unknown): Json {
  const copy = structuredClone(body);
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let holder: Json = copy;
  for (const step of steps) holder = holder[step] as Json;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

const container = {
  name: 'c',
  image: 'i',
  ports: [{ name: 'web', containerPort: 80 }],
  env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
  resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
  livenessProbe: { httpGet: { port: 80 } },
};
const POD = {
  metadata: { name: 'p' },
  spec: {
    automountServiceAccountToken: false,
    containers: [container],
    volumes: [{ name: 'v', emptyDir: {} }],
    tolerations: [{ key: 'k', operator: 'Exists' }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
    securityContext: { runAsUser: 1 },
    affinity: {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: {} }] },
    },
  },
};
const SERVICE = {
  metadata: { name: 's' },
  spec: { type: 'ClusterIP', ports: [{ port: 80 }], sessionAffinity: 'None', selector: { a: 'b' } },
};
const JOB = {
  metadata: { name: 'j' },
  spec: {
    completions: 3,
    completionMode: 'Indexed',
    backoffLimitPerIndex: 1,
    podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1, 2] } }] },
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
  },
};
const CLAIM = {
  metadata: { name: 'c' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const VOLUME = {
  metadata: { name: 'v' },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'a.b', volumeHandle: 'h' } },
};
const BINDING = {
  metadata: { name: 'b' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  subjects: [{ kind: 'User', name: 'u' }],
};
const SLICE = {
  metadata: { name: 'e' },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['1.2.3.4'] }],
  ports: [{ port: 80 }],
};
const SET = {
  metadata: { name: 's' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};

const PODS = ['/api/v1/namespaces/default/pods', POD] as const;
const SERVICES = ['/api/v1/namespaces/default/services', SERVICE] as const;
const JOBS = ['/apis/batch/v1/namespaces/default/jobs', JOB] as const;
const CLAIMS = ['/api/v1/namespaces/default/persistentvolumeclaims', CLAIM] as const;
const VOLUMES = ['/api/v1/persistentvolumes', VOLUME] as const;
const BINDINGS = ['/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', BINDING] as const;
const SLICES = ['/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', SLICE] as const;
const SETS = ['/apis/apps/v1/namespaces/default/statefulsets', SET] as const;
const DAEMONS = ['/apis/apps/v1/namespaces/default/daemonsets', SET] as const;

type Row = [kind: readonly [string, Json], path: string, value: unknown, ...causes: string[]];

test.each<Row>([
  [
    JOBS,
    'spec.template.spec.ephemeralContainers',
    [{ name: 'e', image: 'i' }],
    'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', cephfs: { monitors: ['m'] }, cinder: { volumeID: 'i' } }],
    'spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', azureDisk: { diskName: 'd', diskURI: 'https://x' }, portworxVolume: { volumeID: 'i' } }],
    'spec.volumes[0].azureDisk: Forbidden: may not specify more than 1 volume type',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', fc: {} }],
    'spec.volumes[0].fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', fc: { targetWWNs: ['w'] } }],
    'spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', flexVolume: { driver: 'd', options: { 'x.k8s.io/a': 'b' } } }],
    'spec.volumes[0].flexVolume.options[x.k8s.io/a]: Invalid value: "x.k8s.io/a": kubernetes.io and k8s.io namespaces are reserved',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', rbd: { image: 'i', monitors: [] } }],
    'spec.volumes[0].rbd.monitors: Required value',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', awsElasticBlockStore: { volumeID: 'i', partition: 256 } }],
    'spec.volumes[0].awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255, inclusive',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', hostPath: { path: '', type: 'x' } }],
    'spec.volumes[0].hostPath.path: Required value',
  ],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', gitRepo: { repository: 'r', directory: '/d' } }],
    'spec.volumes[0].gitRepo.directory: Invalid value: "/d": must be a relative path',
  ],
  [PODS, 'spec.volumes', [{ name: 'v', image: { reference: '' } }], 'spec.volumes[0].image.reference: Required value'],
  [
    PODS,
    'spec.resources',
    { claims: [] },
    'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
  ],
  [
    PODS,
    'spec.containers.0.resources',
    { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } },
    'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
  ],
  [VOLUMES, 'spec.csi', undefined, 'spec: Required value: must specify a volume type'],
  [VOLUMES, 'spec.cephfs', { monitors: ['m'] }, 'spec.csi: Forbidden: may not specify more than 1 volume type'],
  [VOLUMES, 'spec.flexVolume', { driver: 'd' }, 'spec.csi: Forbidden: may not specify more than 1 volume type'],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', hostPath: { path: '../x' } }],
    'spec.volumes[0].hostPath.path: Invalid value: "../x": must not contain \'..\'',
  ],
  [PODS, 'spec.volumes', [{ name: 'v', secret: {} }], 'spec.volumes[0].secret.secretName: Required value'],
  [
    PODS,
    'spec.volumes',
    [{ name: 'v', configMap: { name: 'c', defaultMode: 1000 } }],
    'spec.volumes[0].configMap.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 (octal), both inclusive',
  ],
  [
    PODS,
    'spec.containers.0.ports.0.name',
    '--',
    'spec.containers[0].ports[0].name: Invalid value: "--": must contain at least one letter (a-z)',
    'spec.containers[0].ports[0].name: Invalid value: "--": must not contain consecutive hyphens',
    'spec.containers[0].ports[0].name: Invalid value: "--": must not begin or end with a hyphen',
  ],
  [PODS, 'spec.containers.0.ports.0.containerPort', 0, 'spec.containers[0].ports[0].containerPort: Required value'],
  [PODS, 'spec.containers.0.env.0.valueFrom.fieldRef.fieldPath', 'spec.host', ...[]],
  [
    PODS,
    'spec.containers.0.env.0.valueFrom.fieldRef.fieldPath',
    'spec.what',
    'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.what": error converting fieldPath: field label not supported: spec.what',
  ],
  [
    PODS,
    'spec.containers.0.resources.requests.cpu',
    '3',
    'spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2',
  ],
  [
    PODS,
    'spec.containers.0.resources.requests',
    { 'example.dev/gpu': '1' },
    'spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources',
  ],
  [
    PODS,
    'spec.containers.0.livenessProbe',
    {},
    'spec.containers[0].livenessProbe: Required value: must specify a handler type',
  ],
  [
    PODS,
    'spec.containers.0.livenessProbe.successThreshold',
    2,
    'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
  ],
  [
    PODS,
    'spec.tolerations.0.effect',
    'Never',
    'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    PODS,
    'spec.topologySpreadConstraints.0.maxSkew',
    0,
    'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
  ],
  [
    PODS,
    'spec.securityContext.runAsUser',
    -1,
    'spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ],
  [PODS, 'spec.os', {}, 'spec.os.name: Required value'],
  [
    SERVICES,
    'spec.ports.0.nodePort',
    30_000,
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ],
  [
    SERVICES,
    'spec.clusterIP',
    'x',
    'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    SERVICES,
    'spec.loadBalancerClass',
    'a/b',
    "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    SERVICES,
    'spec.externalTrafficPolicy',
    'Local',
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ],
  [
    JOBS,
    'spec.completionMode',
    'NonIndexed',
    'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
  ],
  [
    JOBS,
    'spec.maxFailedIndexes',
    4,
    'spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions',
  ],
  [
    JOBS,
    'spec.podFailurePolicy.rules.0.onExitCodes.values',
    [2, 1],
    'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered',
  ],
  [
    JOBS,
    'spec.managedBy',
    'me',
    'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")',
  ],
  [CLAIMS, 'spec.resources', {}, 'spec.resources[storage]: Required value'],
  [
    CLAIMS,
    'spec.accessModes',
    ['ReadWriteOnce', 'ReadWriteOncePod'],
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  ],
  [VOLUMES, 'spec.csi.volumeHandle', '', 'spec.csi.volumeHandle: Required value'],
  [
    VOLUMES,
    'spec.persistentVolumeReclaimPolicy',
    'Keep',
    'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"',
  ],
  [
    BINDINGS,
    'roleRef.kind',
    'Rule',
    'roleRef.kind: Unsupported value: "Rule": supported values: "Role", "ClusterRole"',
  ],
  [BINDINGS, 'subjects.0.name', '', 'subjects[0].name: Required value'],
  [SLICES, 'endpoints.0.addresses', [], 'endpoints[0].addresses: Required value: must contain at least 1 address'],
  [
    SLICES,
    'ports.0.protocol',
    'ICMP',
    'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    SETS,
    'spec.podManagementPolicy',
    'Random',
    "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
  ],
  [SETS, 'spec.ordinals', { start: -1 }, 'spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0'],
  [
    DAEMONS,
    'spec.updateStrategy',
    { rollingUpdate: { maxSurge: 1 } },
    'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero',
  ],
])('%s with %s as %j is accepted, or refused with its causes', async ([path, body], at, value, ...causes) => {
  const answer = await send(`${path}?dryRun=All`, changed(body, at, value));
  const reported = (answer.body.details as { causes?: { field: string; message: string }[] } | undefined)?.causes ?? [];
  expect(reported.map(({ field, message }) => `${field}: ${message}`)).toEqual(causes);
  expect(answer.code).toBe(causes.length === 0 ? 201 : 422);
});

test('amounts are rounded up to thousandths', async () => {
  const { body } = await send(
    `${PODS[0]}?dryRun=All`,
    changed(POD, 'spec.containers.0.resources', { requests: { cpu: '1n' } }),
  );
  expect(body).toMatchObject({ spec: { containers: [{ resources: { requests: { cpu: '1m' } } }] } });
});

test.each([
  ['web', 'Always'],
  ['web:latest', 'Always'],
  ['host:5000/web:1', 'IfNotPresent'],
  ['Not An Image', 'IfNotPresent'],
])('the image %s is pulled %s', async (image, policy) => {
  const { body } = await send(`${PODS[0]}?dryRun=All`, changed(POD, 'spec.containers.0.image', image));
  expect(body).toMatchObject({ spec: { containers: [{ imagePullPolicy: policy }] } });
});
