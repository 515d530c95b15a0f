import { describe, expect, test } from 'vitest';
import type { RecordedCase, RecordedResult } from '../recording.ts';
import { caseOf } from '../testing.ts';
import { playCase } from './index.ts';

/** Tests inputs that no recording contains. */

const SMALLEST = 'create/minimal';
const LISTING = 'list/three';
const PREFIX = 'initialize/prefix-one';

interface Played {
  readonly failure: string | undefined;
  readonly rows: readonly string[];
}

async function played(recorded: RecordedCase): Promise<Played> {
  const rows: string[] = [];
  const failure = await playCase(recorded, ({ step, expect: expected }) => rows.push(...expected(step).rows));
  return { failure, rows };
}

const refused = (errorCode: string, errorText: string): RecordedResult => ({
  response: null,
  errorCode,
  errorText,
  textIs: 'driver',
});

const withSpec = (recorded: RecordedCase, change: object): RecordedCase => ({
  ...recorded,
  providerSpec: { ...(recorded.providerSpec as object), ...change },
  metrics: undefined,
});

/** Returns the recorded AWS requests with changed parameters of RunInstances. */
function launching(recorded: RecordedCase, params: Readonly<Record<string, string>>): RecordedCase {
  const requests = (recorded.requests ?? []).map((each) =>
    each.action === 'RunInstances' ? { ...each, params: { ...each.params, ...params } } : each,
  );
  return { ...recorded, requests };
}

describe('placement in the annotation of a machine', () => {
  const annotated = async (text: string, params: Readonly<Record<string, string>>): Promise<RecordedCase> => {
    const recorded = launching(await caseOf('aws', SMALLEST), params);
    const nodeTemplateAnnotations = { 'machine.sapcloud.io/awsPlacement': text };
    return { ...recorded, machine: { ...recorded.machine, nodeTemplateAnnotations } };
  };

  test.each<[text: string, params: Readonly<Record<string, string>>]>([
    ['{"Tenancy":""}', {}],
    ['{"Tenancy":"","GroupName":""}', { 'Placement.GroupName': '' }],
    ['{"\u017fpreadDomain":"a"}', { 'Placement.SpreadDomain': 'a' }],
    ['{"PartitionNumber":3}', { 'Placement.PartitionNumber': '3' }],
    [String.raw`{"GroupName":"\ud800"}`, { 'Placement.GroupName': '\ufffd' }],
  ])('%s is sent as in the original', async (text, params) => {
    expect(await played(await annotated(text, params))).toEqual({ failure: undefined, rows: [] });
  });

  test.each(['1e0', '1.0'])('the number %s is refused', async (number) => {
    const recorded = await annotated(`{"PartitionNumber":${number}}`, {});
    const requests = (recorded.requests ?? []).filter(({ action }) => action === 'DescribeImages');
    const result = { ...refused('Internal', 'x'), textIs: 'decoder' } as const;
    const { failure } = await played({ ...recorded, requests, result, metrics: undefined });
    expect(failure).toBeUndefined();
  });
});

describe('instances without an ID', () => {
  test('the first ID of a launch is used, even if it is empty', async () => {
    const recorded = await caseOf('aws', SMALLEST);
    const requests = (recorded.requests ?? []).filter(({ action }) => action !== 'DescribeInstances');
    const text = `creation of VM failed for machine "${recorded.machine?.name}" - no non-empty instanceID found in runResult`;
    const cloud = { launch: { instanceIds: ['', 'i-2'] } };
    const odd = { ...recorded, cloud, requests, result: refused('Internal', text), metrics: undefined };
    expect(await played(odd)).toEqual({ failure: undefined, rows: [] });
  });

  test('an instance with an empty ID is listed', async () => {
    const recorded = await caseOf('aws', LISTING);
    const tags = { ...(recorded.providerSpec as { readonly tags: object }).tags, Name: 'a' };
    const cloud = { instances: [{ instanceId: '', state: 'running', tags }] };
    const response = { machineList: { 'aws:///eu-north-1/': 'a' } };
    const listed = { ...recorded, cloud, result: { response, errorCode: null }, metrics: undefined };
    expect(await played(listed)).toEqual({ failure: undefined, rows: [] });
  });
});

test('a lack of capacity is final only for a launch', async () => {
  const recorded = await caseOf('aws', LISTING);
  const error = { http: 500, code: 'InsufficientInstanceCapacity', message: 'no' };
  const cloud = { ...(recorded.cloud as object), script: [{ action: 'DescribeInstances', times: 2, error }] };
  expect(await played({ ...recorded, cloud })).toEqual({ failure: undefined, rows: [] });
});

test('a class without a Secret is refused with the text of the original', async () => {
  const recorded = await caseOf('aws', LISTING);
  const text = 'error while validating ProviderSpec secretRef[]: Required value: secretRef is required';
  const result = refused('InvalidArgument', text);
  const { failure } = await played({ ...recorded, secret: null, requests: [], result, metrics: undefined });
  expect(failure).toBeUndefined();
});

const REQUIRED = 'error while validating ProviderSpec providerSpec.networkInterfaces[]: Required value: ';
const wrongType = { ...refused('Internal', 'x'), textIs: 'decoder' } as const;

test.each<[value: unknown, result: RecordedResult]>([
  [null, refused('InvalidArgument', `${REQUIRED}Mention at least one NetworkInterface`)],
  ['', wrongType],
  [{}, wrongType],
  [[7], wrongType],
])('network interfaces of a wrong type can be replayed: %j', async (value, result) => {
  const recorded = withSpec(await caseOf('aws', PREFIX), { networkInterfaces: value });
  expect(await played({ ...recorded, requests: [], result })).toEqual({ failure: undefined, rows: [] });
});

const ASSIGN = 'AssignIpv6Addresses';

test.each([
  ['an error', { error: { http: 500, code: 'InternalError', message: 'no' } }],
  ['a closed connection', { close: true }],
])('prefixes are assigned once if the answer is lost by %s', async (_what, lost) => {
  const recorded = await caseOf('aws', PREFIX);
  const cloud = { ...(recorded.cloud as object), script: [{ action: ASSIGN, times: 1, ...lost }] };
  const { failure, rows } = await played({ ...recorded, cloud });
  expect(failure).toBeUndefined();
  expect(rows).toContain('`AssignIpv6Addresses` with a lost response');
});

test('an interface without an ID needs no prefix if it has more prefixes than requested', async () => {
  const recorded = withSpec(await caseOf('aws', PREFIX), {});
  const spec = recorded.providerSpec as { readonly networkInterfaces: readonly object[] };
  const networkInterfaces = spec.networkInterfaces.map((each) => ({ ...each, ipv6PrefixCount: -1 }));
  const { instances } = recorded.cloud as {
    readonly instances: readonly { readonly networkInterfaces: readonly object[] }[];
  };
  const nameless = instances.map((each) => ({
    ...each,
    networkInterfaces: each.networkInterfaces.map((nic) => ({ ...nic, networkInterfaceId: null })),
  }));
  const requests = (recorded.requests ?? []).filter(({ action }) => action !== ASSIGN);
  const text = 'missing required field, AssignIpv6AddressesInput.NetworkInterfaceId.';
  const { failure, rows } = await played({
    ...recorded,
    providerSpec: { ...spec, networkInterfaces },
    cloud: { instances: nameless },
    requests,
    result: { ...refused('Uninitialized', text), textIs: 'sdk' },
  });
  expect(failure).toBeUndefined();
  expect(rows).toContain('the driver accepts more IPv6 prefixes than requested');
});

test('a final error of an assignment needs no rule', async () => {
  const recorded = await caseOf('aws', PREFIX);
  const error = { http: 400, code: 'InvalidParameterValue', message: 'no' };
  const cloud = { ...(recorded.cloud as object), script: [{ action: ASSIGN, error }] };
  const result = { ...refused('Uninitialized', 'x'), textIs: 'sdk', cloudError: error } as const;
  expect(await played({ ...recorded, cloud, result, metrics: undefined })).toEqual({ failure: undefined, rows: [] });
});

test.each([200, 204])('an answer with the status %i and no content is not an empty list', async (http) => {
  const recorded = await caseOf('aws', LISTING);
  const cloud = { script: [{ action: 'DescribeInstances', raw: { http, contentType: 'text/xml', body: '' } }] };
  const result = { response: { machineList: {} }, errorCode: null };
  const { failure, rows } = await played({ ...recorded, cloud, result });
  expect(failure).toBeUndefined();
  expect(rows).toContain('a response that is not from EC2 has the code Internal');
});

test('an odd answer counts as a failure only for its own service', async () => {
  const recorded = await caseOf('aws', 'delete/by-tags');
  const raw = { http: 200, contentType: 'text/html', body: '<html>no</html>' };
  const cloud = { ...(recorded.cloud as object), script: [{ action: 'TerminateInstances', raw }] };
  const { failure, rows } = await played({ ...recorded, cloud });
  expect(failure).toBeUndefined();
  expect(rows).toContain('a response that is not from EC2 has the code Internal');
});

test.each(['-', 'a.b'])('the region %s is refused before a request', async (region) => {
  const recorded = await caseOf('aws', LISTING);
  const spec = { ...(recorded.providerSpec as object), region };
  const { failure, rows } = await played({ ...recorded, providerSpec: spec });
  expect(failure).toBeUndefined();
  expect(rows).toContain('A region that is not a host name, such as `-` or `a.b`');
});

test('keys that are not UTF-8 are refused', async () => {
  const recorded = await caseOf('aws', LISTING);
  const { failure, rows } = await played({ ...recorded, secretBase64: { providerAccessKeyId: '/w==' } });
  expect(failure).toBeUndefined();
  expect(rows).toContain('A value of a Secret that is not UTF-8');
});

test.each([
  ['user data that is not UTF-8 is sent unchanged', { secretBase64: { userData: '/w==' } }],
  [
    'an error page of EC2 is an error',
    { cloud: { script: [{ action: 'DescribeInstances', raw: { http: 400, body: '' } }] } },
  ],
  [
    'a call that fails before its first request is refused for the reason in the recording',
    { providerSpec: { region: '-' }, requests: [], result: refused('Internal', 'x') },
  ],
])('%s: no rule applies', async (_what, change) => {
  const { rows } = await played({ ...(await caseOf('aws', LISTING)), ...change });
  expect(rows).toEqual([]);
});

test('a provider spec that ends the process of the original is refused', async () => {
  const recorded = await caseOf('aws', LISTING);
  const result = { response: null, errorCode: null, panic: 'nil pointer' };
  const { failure, rows } = await played({ ...recorded, providerSpec: null, requests: [], result, metrics: undefined });
  expect(failure).toBeUndefined();
  expect(rows).toContain('the driver reads the provider spec as the API server stores it');
});

test('a call without volumes counts nothing', async () => {
  const metrics = {
    'mcm_cloud_api_driver_request_duration_seconds_count{operation="get_volume_ids",provider="aws"}': 1,
  };
  const result = { response: { volumeIDs: null }, errorCode: null };
  const none = {
    name: 'none',
    title: 'no volumes',
    method: 'GetVolumeIDs',
    pvSpecs: [],
    requests: [],
    result,
    metrics,
  };
  expect(await played(none)).toEqual({ failure: undefined, rows: ['the driver requests volumes one at a time'] });
});
