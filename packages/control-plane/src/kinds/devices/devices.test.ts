import { expect, test } from 'vitest';
import { TestPlane } from '../../controllers/testing.ts';

const GROUP = '/apis/resource.k8s.io/v1';
const CLAIMS = `${GROUP}/namespaces/default/resourceclaims`;
const apiVersion = 'resource.k8s.io/v1';
const request = { name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } };
const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };

interface Answer {
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] };
}

/** Returns the causes in the error response. */
async function causesOf(plane: TestPlane, method: string, path: string, body: object): Promise<string[]> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await plane.send(method, path, body, type);
  const { details } = answer.body as Answer;
  return answer.code < 300 ? [] : (details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const claimWith = (devices: object, name = 'c') => ({
  apiVersion,
  kind: 'ResourceClaim',
  metadata: { name },
  spec: { devices },
});

const REFERENCE =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

test.each<[what: string, devices: object, expected: readonly string[]]>([
  ['no request', {}, []],
  [
    'a request with neither kind',
    { requests: [{ name: 'a' }] },
    ['spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required'],
  ],
  [
    'both kinds of a request',
    { requests: [{ ...request, firstAvailable: [{ name: 'b', deviceClassName: 'x' }] }] },
    [
      'spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set',
    ],
  ],
  [
    'a count for all devices',
    { requests: [{ name: 'a', exactly: { deviceClassName: 'x', allocationMode: 'All', count: 2 } }] },
    ["spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
  ],
  [
    'a request without a class, and a negative count',
    { requests: [{ name: 'a', exactly: { count: -1 } }] },
    [
      'spec.devices.requests[0].exactly.deviceClassName: Required value',
      'spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero',
    ],
  ],
  ['two requests of one name', { requests: [request, request] }, ['spec.devices.requests[1]: Duplicate value: "gpu"']],
  [
    'a constraint for an unknown and a repeated request, without a domain',
    { requests: [request], constraints: [{ requests: ['gpu', 'x', 'gpu'], matchAttribute: 'model' }] },
    [
      `spec.devices.constraints[0].requests[1]: Invalid value: "x": ${REFERENCE}`,
      'spec.devices.constraints[0].requests[2]: Duplicate value: "gpu"',
      'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
    ],
  ],
  [
    'a configuration that is no object',
    { requests: [request], config: [{ opaque: { driver: 'd.example', parameters: [1] } }, {}] },
    [
      'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      'spec.devices.config[1].opaque: Required value',
    ],
  ],
  [
    'a toleration with a value',
    { requests: [{ name: 'a', exactly: { deviceClassName: 'x', tolerations: [{ operator: 'Exists', value: 'v' }] } }] },
    ['spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`'],
  ],
  [
    'access for administrators in a namespace without the label',
    { requests: [{ name: 'a', exactly: { deviceClassName: 'x', adminAccess: true } }] },
    [
      'spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace',
    ],
  ],
])('a claim with %s', async (_what, devices, expected) => {
  await using plane = await TestPlane.start();
  expect(await causesOf(plane, 'POST', CLAIMS, claimWith(devices))).toEqual(expected);
});

test('access for administrators is allowed in a namespace with the label', async () => {
  await using plane = await TestPlane.start();
  await plane.patch('/api/v1/namespaces/default', {
    metadata: { labels: { 'resource.kubernetes.io/admin-access': 'true' } },
  });
  const devices = { requests: [{ name: 'a', exactly: { deviceClassName: 'x', adminAccess: true } }] };
  expect(await causesOf(plane, 'POST', CLAIMS, claimWith(devices))).toEqual([]);
});

test('requests have defaults, a claim is created without a status, and its spec is immutable', async () => {
  await using plane = await TestPlane.start();
  const tolerant = { deviceClassName: 'x', tolerations: [{ key: 'k', value: 'v' }] };
  const devices = { requests: [request, { name: 'any', firstAvailable: [{ name: 'b', ...tolerant }] }] };
  const status = { reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] };
  const made = await plane.must('POST', CLAIMS, { ...claimWith(devices), status });
  const count = { allocationMode: 'ExactCount', count: 1 };
  expect(made['spec']).toMatchObject({
    devices: {
      requests: [{ exactly: count }, { firstAvailable: [{ ...count, tolerations: [{ operator: 'Equal' }] }] }],
    },
  });
  expect(made['status']).toEqual({});
  expect(await causesOf(plane, 'PATCH', `${CLAIMS}/c`, { spec: { devices: { requests: null } } })).toEqual([
    'spec: Invalid value: {"Devices":{"Requests":null,"Constraints":null,"Config":null}}: field is immutable',
  ]);
});

const device = { driver: 'd.example', pool: 'p', device: 'gpu-0' };

test('a claim is reserved only while it is allocated, an allocation is immutable, and reports end with it', async () => {
  await using plane = await TestPlane.start();
  await plane.must('POST', CLAIMS, claimWith({ requests: [request] }));
  const path = `${CLAIMS}/c/status`;
  const consumer = { resource: 'pods', name: 'p', uid: 'u' };
  const patch = (status: object): Promise<string[]> => causesOf(plane, 'PATCH', path, { status });
  expect(await patch({ reservedFor: [consumer] })).toEqual([
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  ]);
  expect(await patch({ allocation: { devices: { results: [{ ...device, request: 'x' }] } } })).toEqual([
    `status.allocation.devices.results[0].request: Invalid value: "x": ${REFERENCE}`,
  ]);
  expect(await patch({ allocation: { devices: { results: [{ ...device, request: 'gpu' }] } } })).toEqual([]);
  expect(await patch({ reservedFor: [consumer, { uid: 'u' }] })).toEqual([
    'status.reservedFor[1].resource: Required value',
    'status.reservedFor[1].name: Required value',
    'status.reservedFor[1]: Duplicate value: "u"',
  ]);
  expect(await patch({ reservedFor: [consumer], devices: [device] })).toEqual([]);
  expect(await patch({ devices: [{ ...device, device: 'gpu-1', networkData: { ips: ['10.0.0.1'] } }] })).toEqual([
    'status.devices[0]: Invalid value: {"Driver":"d.example","Pool":"p","Device":"gpu-1","ShareID":""}: must be an allocated device in the claim',
    'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
  ]);
  const [changed] = await patch({
    allocation: { devices: { results: [{ ...device, device: 'gpu-1', request: 'gpu' }] } },
  });
  expect(changed).toMatch(/^status\.allocation: .*field is immutable$/);
  expect(await patch({ allocation: null, reservedFor: null })).toEqual([]);
  expect((await plane.must('GET', `${CLAIMS}/c`))['status']).toEqual({});
});

test('a claim in deletion gets no new consumers', async () => {
  await using plane = await TestPlane.start();
  const claim = claimWith({ requests: [request] });
  await plane.must('POST', CLAIMS, { ...claim, metadata: { name: 'c', finalizers: ['a.example/f'] } });
  const path = `${CLAIMS}/c/status`;
  await plane.patch(path, { status: { allocation: { devices: { results: [{ ...device, request: 'gpu' }] } } } });
  await plane.must('DELETE', `${CLAIMS}/c`);
  const body = { status: { reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] } };
  expect(await causesOf(plane, 'PATCH', path, body)).toEqual([
    'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
  ]);
});

const CHOICE = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';

test.each<[what: string, spec: object, expected: readonly string[]]>([
  ['no node', { nodeName: undefined }, [`spec: Required value: ${CHOICE}`]],
  [
    'two choices of nodes',
    { allNodes: true },
    [`spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${CHOICE}, but multiple fields are set`],
  ],
  [
    'a pool without slices',
    { pool: { name: 'p', generation: -1, resourceSliceCount: 0 } },
    [
      'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
      'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
    ],
  ],
  ['two devices of one name', { devices: [{ name: 'a' }, { name: 'a' }] }, ['spec.devices[1]: Duplicate value: "a"']],
  [
    'wrong attributes',
    { devices: [{ name: 'a', attributes: { v: { version: '1' }, n: {}, 'a.dev/x': { int: 1, bool: true } } }] },
    [
      'spec.devices[0].attributes[v].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
      'spec.devices[0].attributes[n]: Invalid value: "": exactly one value must be specified',
      'spec.devices[0].attributes[a.dev/x]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified',
    ],
  ],
  [
    'a policy without a shared device',
    { devices: [{ name: 'a', capacity: { m: { value: '1Gi', requestPolicy: { default: '1Gi' } } } }] },
    ['spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true'],
  ],
  [
    'wrong policies',
    {
      devices: [
        {
          name: 'a',
          allowMultipleAllocations: true,
          capacity: {
            m: { value: '10', requestPolicy: { default: '1', validValues: ['3', '2', '20'] } },
            n: { value: '10', requestPolicy: { default: '3', validRange: { min: '2', max: '12', step: '2' } } },
            o: { value: '10', requestPolicy: { validRange: { min: '1' } } },
          },
        },
      ],
    },
    [
      'spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "2": values must be sorted in ascending order',
      'spec.devices[0].capacity[m].requestPolicy.validValues[2]: Invalid value: "20": option is larger than capacity value: 10',
      'spec.devices[0].capacity[m].requestPolicy.validValues: Invalid value: "1": default value is not valid according to the requestPolicy',
      'spec.devices[0].capacity[n].requestPolicy.validRange.max: Invalid value: "12": max is larger than capacity value: 10',
      'spec.devices[0].capacity[n].requestPolicy.validRange.step: Invalid value: "3": value is not a multiple of a given step (2) from (2)',
      'spec.devices[0].capacity[o].requestPolicy.default: Required value: required when validRange is defined',
    ],
  ],
  [
    'a wrong taint',
    { devices: [{ name: 'a', taints: [{ key: 'k', effect: 'X' }] }] },
    ['spec.devices[0].taints[0].effect: Unsupported value: "X": supported values: "NoExecute", "NoSchedule", "None"'],
  ],
  [
    'counters and devices',
    { sharedCounters: [{ name: 'a', counters: {} }], devices: [{ name: 'a', consumesCounters: [{}] }] },
    [
      'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
      'spec.devices[0].consumesCounters[0].counterSet: Required value',
      'spec.devices[0].consumesCounters[0].counters: Required value',
      'spec.sharedCounters[0].counters: Required value',
    ],
  ],
  [
    'counters and an empty list of devices',
    { sharedCounters: [{ name: 'a', counters: { m: { value: '1' } } }], devices: [] },
    ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
  ],
  [
    'failure conditions only',
    { devices: [{ name: 'a', bindingFailureConditions: ['x'] }] },
    [
      'spec.devices[0].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions',
    ],
  ],
])('a slice with %s', async (_what, spec, expected) => {
  await using plane = await TestPlane.start();
  const slice = { driver: 'd.example', pool, nodeName: 'n', ...spec };
  const body = { apiVersion, kind: 'ResourceSlice', metadata: { name: 's' }, spec: slice };
  expect((await causesOf(plane, 'POST', `${GROUP}/resourceslices`, body)).toSorted()).toEqual(expected.toSorted());
});

test('a taint gets a time, alpha fields are dropped, and the place of a slice is immutable', async () => {
  await using plane = await TestPlane.start();
  const devices = [
    {
      name: 'a',
      taints: [{ key: 'k', effect: 'NoSchedule' }],
      attributes: { x: { int: 1, ints: [1, 2] } },
      nodeAllocatableResourceMappings: { cpu: { allocationMultiplier: '2' } },
    },
  ];
  const spec = { driver: 'd.example', pool, nodeName: 'n', devices };
  const body = { apiVersion, kind: 'ResourceSlice', metadata: { name: 's' }, spec };
  const made = await plane.must('POST', `${GROUP}/resourceslices`, body);
  expect(made['spec']).toMatchObject({
    devices: [{ name: 'a', attributes: { x: { int: 1 } }, taints: [{ timeAdded: expect.stringMatching(/^\d.*Z$/) }] }],
  });
  expect(JSON.stringify(made['spec'])).not.toMatch(/"ints|nodeAllocatable/);
  const change = { spec: { driver: 'e.example', nodeName: 'm', pool: { name: 'q' } } };
  expect(await causesOf(plane, 'PATCH', `${GROUP}/resourceslices/s`, change)).toEqual([
    'spec.pool.name: Invalid value: "q": field is immutable',
    'spec.driver: Invalid value: "e.example": field is immutable',
    'spec.nodeName: Invalid value: "m": field is immutable',
  ]);
  expect(await plane.list(`${GROUP}/resourceslices?fieldSelector=spec.driver=d.example,spec.nodeName=n`)).toHaveLength(
    1,
  );
  expect(await plane.list(`${GROUP}/resourceslices?fieldSelector=spec.nodeName=m`)).toHaveLength(0);
});

test.each<[what: string, spec: object, expected: readonly string[]]>([
  ['a valid expression', { selectors: [{ cel: { expression: 'device.driver == "d.example"' } }] }, []],
  [
    'an expression of another type',
    { selectors: [{ cel: { expression: '1' } }, {}] },
    [
      'spec.selectors[0].cel.expression: Invalid value: "1": must evaluate to bool or the unknown type, not int',
      'spec.selectors[1].cel: Required value',
    ],
  ],
  [
    'a name that is no extended resource',
    { extendedResourceName: 'kubernetes.io/gpu' },
    ['spec.extendedResourceName: Invalid value: "kubernetes.io/gpu": must be a valid extended resource name'],
  ],
])('a class with %s', async (_what, spec, expected) => {
  await using plane = await TestPlane.start();
  const body = { apiVersion, kind: 'DeviceClass', metadata: { name: 'c' }, spec };
  expect(await causesOf(plane, 'POST', `${GROUP}/deviceclasses`, body)).toEqual(expected);
});

test('a deletion returns the object, and cluster-scoped slices cannot be selected by namespace', async () => {
  await using plane = await TestPlane.start();
  await plane.must('POST', CLAIMS, claimWith({ requests: [request] }));
  expect(await plane.must('DELETE', `${CLAIMS}/c`)).toMatchObject({ kind: 'ResourceClaim', metadata: { name: 'c' } });
  const { code } = await plane.send('GET', `${GROUP}/resourceslices?fieldSelector=metadata.namespace=default`);
  expect(code).toBe(400);
});

test('the owner of a report is recorded without the keys that the report lacks', async () => {
  await using plane = await TestPlane.start();
  await plane.must('POST', CLAIMS, claimWith({ requests: [request] }));
  const results = [{ ...device, request: 'gpu' }];
  const status = { allocation: { devices: { results } }, devices: [{ ...device, data: { a: 1 } }] };
  const { metadata } = await plane.patch(`${CLAIMS}/c/status`, { status });
  const fields = JSON.stringify(metadata.managedFields);
  expect(fields).toContain(JSON.stringify('k:{"device":"gpu-0","driver":"d.example","pool":"p"}'));
  expect(fields, 'raw data is one field').toContain('"f:data":{},');
});

test('the spec of a template is checked, and immutable', async () => {
  await using plane = await TestPlane.start();
  const path = `${GROUP}/namespaces/default/resourceclaimtemplates`;
  const template = (spec: object) => ({ apiVersion, kind: 'ResourceClaimTemplate', metadata: { name: 't' }, spec });
  const metadata = { annotations: { 'a b': '' }, labels: { k: 'a b' }, name: '', uid: 'u', finalizers: [] };
  const wrong = template({ metadata, spec: { devices: { requests: [{ name: 'a' }] } } });
  expect((await causesOf(plane, 'POST', path, wrong)).map((cause) => cause.split(':')[0])).toEqual([
    'spec.metadata.annotations',
    'spec.metadata.labels',
    'spec.metadata.uID',
    'spec.metadata.finalizers',
    'spec.spec.devices.requests[0]',
  ]);
  expect(await causesOf(plane, 'POST', path, template({ spec: { devices: { requests: [request] } } }))).toEqual([]);
  expect(await causesOf(plane, 'PATCH', `${path}/t`, { spec: { spec: { devices: { requests: null } } } })).toEqual([
    'spec: Invalid value: {"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}: field is immutable',
  ]);
  const invalid = { spec: { metadata: { labels: { k: 'a b' } } } };
  const causes = await causesOf(plane, 'PATCH', `${path}/t`, invalid);
  expect(causes.map((cause) => cause.split(':')[0])).toEqual(['spec.metadata.labels', 'spec']);
});
