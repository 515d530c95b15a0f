import { expect, test } from 'vitest';
import { playCase as playAws } from './aws/index.ts';
import { playCase as playAzure } from './azure/index.ts';
import { playCase as playGcp } from './gcp/index.ts';
import type { RecordedCase, RecordedStep } from './recording.ts';
import { callsOf } from './recording.ts';
import type { PlayCase } from './run-set.ts';
import { scriptedRules } from './scripted.ts';
import { caseOf } from './testing.ts';

/** Tests rules for situations that no recording contains. */

const DOWN = 'a failure of the token host gets the code Unavailable';
const DELETION = 'lookup/027';
const NOBODYS = 'a 404 without an error code of the cloud is different from NotFound';

function changed(recorded: RecordedCase, path: RegExp, reply: object, end: Partial<RecordedStep>): RecordedCase {
  const rules = scriptedRules.parse(recorded.cloud);
  const cloud = rules.map((rule) => (path.test(rule.path) ? { ...rule, replies: [reply] } : rule));
  return { ...recorded, cloud, ...end };
}

async function rowsOf(
  play: PlayCase,
  recorded: RecordedCase,
): Promise<{ failure: string | undefined; rows: string[] }> {
  const rows: string[] = [];
  const failure = await play(recorded, ({ step, expect: expectationOf }) => rows.push(...expectationOf(step).rows));
  return { failure, rows };
}

const refused = { response: null, errorCode: 'Internal', errorText: 'x', textIs: 'decoder' } as const;
const failedCall = (provider: string, operation: string, code: number) => ({
  [`mcm_cloud_api_driver_requests_failed_total{error_code="${code}",operation="${operation}",provider="${provider}"}`]: 1,
});
const failedService = (provider: string, service: string) => ({
  [`mcm_cloud_api_requests_failed_total{provider="${provider}",service="${service}"}`]: 1,
});

test.each([503, 500, 429])('Azure: a login host that answers with %i is temporarily unavailable', async (status) => {
  const recorded = await caseOf('azure', 'secrets/015');
  const requests = (recorded.requests ?? []).slice(0, -1);
  const metrics = {
    ...failedCall('azure', 'get_machine_status', 13),
    ...failedService('azure', 'virtual_machine_get'),
  };
  const down = changed(recorded, /oauth2\/v2\.0\/token$/, { status }, { requests, result: refused, metrics });
  const { failure, rows } = await rowsOf(playAzure, down);
  expect(failure).toBeUndefined();
  expect(rows).toContain(DOWN);
});

test.each([503, 500, 429])('GCP: a token host that answers with %i is temporarily unavailable', async (status) => {
  const recorded = await caseOf('gcp', 'secrets/040');
  const requests = (recorded.requests ?? []).slice(0, 1);
  const metrics = { ...failedCall('gcp', 'get_machine_status', 13), ...failedService('gcp', 'instance_get') };
  const down = changed(recorded, /oauth2\.googleapis\.com\/token$/, { status }, { requests, result: refused, metrics });
  const { failure, rows } = await rowsOf(playGcp, down);
  expect(failure).toBeUndefined();
  expect(rows).toContain(DOWN);
});

test.each([400, 401, 403])('a token host that answers with %i is available', async (status) => {
  const azure = changed(await caseOf('azure', 'secrets/015'), /oauth2\/v2\.0\/token$/, { status }, {});
  const gcp = changed(await caseOf('gcp', 'secrets/040'), /oauth2\.googleapis\.com\/token$/, { status }, {});
  expect((await rowsOf(playAzure, azure)).rows).not.toContain(DOWN);
  expect((await rowsOf(playGcp, gcp)).rows).not.toContain(DOWN);
});

test('AWS: an STS that answers with 503 is temporarily unavailable', async () => {
  const recorded = await caseOf('aws', 'secret/wi-sts-AccessDenied');
  const error = { http: 503, code: 'ServiceUnavailable', message: 'not now' };
  const errorText = 'operation error STS: AssumeRoleWithWebIdentity';
  const down: RecordedCase = {
    ...recorded,
    cloud: { script: [{ action: 'AssumeRoleWithWebIdentity', error }] },
    result: { response: null, errorCode: 'Internal', errorText, textIs: 'sdk', cloudError: error },
  };
  const { failure, rows } = await rowsOf(playAws, down);
  expect(failure).toBeUndefined();
  expect(rows).toContain(DOWN);
});

test.each([
  ['without a body', { status: 404 }],
  ['with a page', { status: 404, text: '<html>nothing here</html>' }],
  ['with an error that has no code', { status: 404, body: { error: { code: null, message: null } } }],
])('Azure: a 404 %s does not show whether a VM exists', async (_what, reply) => {
  const recorded = await caseOf('azure', 'lookup/001');
  const nothing = changed(recorded, /virtualMachines/, reply, {
    result: { response: null, errorCode: 'NotFound', errorText: 'VM is not found', textIs: 'driver' },
    metrics: undefined,
  });
  const { failure, rows } = await rowsOf(playAzure, nothing);
  expect(failure).toBeUndefined();
  expect(rows).toContain(NOBODYS);
  expect('VM is not found').not.toMatch(await patternOf(playAzure, nothing));
});

test.each([
  ['without a body', { status: 404 }],
  ['with a page', { status: 404, text: '<html>nothing here</html>' }],
])('GCP: a 404 %s does not show that a VM is deleted', async (_what, reply) => {
  const recorded = await caseOf('gcp', DELETION);
  const nothing = changed(recorded, /instances\/\*$|instances\/golden-m-1$/, reply, {
    requests: (recorded.requests ?? []).slice(0, 2),
    metrics: undefined,
  });
  const { failure, rows } = await rowsOf(playGcp, nothing);
  expect(failure).toBeUndefined();
  expect(rows).toContain('A 404 without an error of Google');
});

test('GCP: a 404 with an error of Google shows that a VM is deleted', async () => {
  const error = { code: 404, message: 'not found', errors: [{ reason: 'notFound', message: 'not found' }] };
  const reply = { status: 404, body: { error } };
  const gone = changed(await caseOf('gcp', DELETION), /instances\/\*$|instances\/golden-m-1$/, reply, {});
  expect((await rowsOf(playGcp, gone)).rows).not.toContain('A 404 without an error of Google');
});

test.each([
  ['no content', { status: 204 }],
  ['an operation without a name', { status: 200, body: {} }],
])('GCP: %s is not an answer of Compute Engine', async (_what, reply) => {
  const recorded = await caseOf('gcp', DELETION);
  for (const path of [/operations/, /instances\/golden-m-1$/]) {
    const odd = changed(recorded, path, reply, { metrics: undefined });
    const { failure, rows } = await rowsOf(playGcp, odd);
    expect(failure).toBeUndefined();
    expect(rows).toContain('a response that is not from Compute Engine has the code Internal');
  }
});

test.each(['Regular', 'Spot'])('Azure: the VM of a class gets its priority: %s', async (priority) => {
  const recorded = await caseOf('azure', 'create-fields/001');
  const spec = recorded.providerSpec as { readonly properties: object };
  const wanted = { ...recorded, providerSpec: { ...spec, properties: { ...spec.properties, priority } } };
  const { failure, rows } = await rowsOf(playAzure, wanted);
  expect(failure).toBeUndefined();
  expect(rows).toContain('the driver sends the priority of a class');
});

test.each(['spot', 'Low'])('Azure: an unknown priority creates no VM: %s', async (priority) => {
  const recorded = await caseOf('azure', 'create-fields/001');
  const spec = recorded.providerSpec as { readonly properties: object };
  const wanted = { ...recorded, providerSpec: { ...spec, properties: { ...spec.properties, priority } } };
  const { failure, rows } = await rowsOf(playAzure, wanted);
  expect(failure).toBeUndefined();
  expect(rows).toContain('the driver sends the priority of a class');
});

test.each([2_147_483_648, -2_147_483_649, Number.MAX_SAFE_INTEGER])(
  'GCP: the number of GPUs is sent unchanged: %i',
  async (count) => {
    const recorded = await caseOf('gcp', 'create-fields/001');
    const scheduling = { onHostMaintenance: 'TERMINATE' };
    const spec = { ...(recorded.providerSpec as object), gpu: { acceleratorType: 't4', count }, scheduling };
    const acceleratorType = 'projects/golden-proj-1/zones/europe-north1-b/acceleratorTypes/t4';
    const guestAccelerators = [{ acceleratorType, acceleratorCount: count }];
    const requests = (recorded.requests ?? []).map((each) =>
      each.path.endsWith('/instances')
        ? {
            ...each,
            body: {
              ...(each.body as object),
              guestAccelerators,
              scheduling: { automaticRestart: false, ...scheduling },
            },
          }
        : each,
    );
    const { failure, rows } = await rowsOf(playGcp, { ...recorded, providerSpec: spec, requests });
    expect([failure, rows]).toEqual([undefined, []]);
  },
);

test('GCP: a conflict of a polled operation does not start a search for an existing VM', async () => {
  const recorded = await caseOf('gcp', 'create-flow/001');
  const errorText = 'Create machine "golden-m-1" failed: googleapi: Error 409: no';
  const conflict = changed(
    recorded,
    /operations/,
    { status: 409, body: { error: { message: 'no' } } },
    {
      requests: (recorded.requests ?? []).slice(0, 2),
      result: { response: null, errorCode: 'Internal', errorText, textIs: 'driver' },
      metrics: undefined,
    },
  );
  const { failure, rows } = await rowsOf(playGcp, conflict);
  expect([failure, rows]).toEqual([undefined, []]);
});

test('an unchanged recording needs none of these rules', async () => {
  for (const [play, cloud, name] of [
    [playAzure, 'azure', 'secrets/015'],
    [playAzure, 'azure', 'lookup/001'],
    [playGcp, 'gcp', 'secrets/040'],
  ] as const) {
    const recorded = await caseOf(cloud, name);
    expect(callsOf(recorded)).toHaveLength(1);
    const { failure, rows } = await rowsOf(play, recorded);
    expect(failure).toBeUndefined();
    expect(rows).not.toContain(DOWN);
    expect(rows).not.toContain(NOBODYS);
  }
});

const NO_ACCESS =
  'Failed to create virtual machine access to process request: [ResourceGroup: golden-rg, VMName: golden-vm-1], Err: ';

test.each<[change: Readonly<Record<string, string>>, text: string]>([
  [{ clientSecret: ' ', azureClientSecret: 'x' }, "secret can't be empty string"],
  [
    { clientSecret: '', workloadIdentityTokenFile: 'golden-token-file', clientID: '', azureClientId: 'x' },
    'no client ID specified. Check pod configuration or set ClientID in the options',
  ],
  [
    { clientSecret: '', workloadIdentityTokenFile: 'golden-token-file', tenantID: '', azureTenantId: 'x' },
    'no tenant ID specified. Check pod configuration or set TenantID in the options',
  ],
])('Azure: an empty value takes precedence over its other key: %j', async (change, text) => {
  const recorded = await caseOf('azure', 'lookup/001');
  const result = { response: null, errorCode: 'Internal', errorText: `${NO_ACCESS}${text}`, textIs: 'driver' } as const;
  const changedSecret = { ...recorded.secret, ...change };
  const { failure, rows } = await rowsOf(playAzure, {
    ...recorded,
    secret: changedSecret,
    requests: [],
    result,
    metrics: undefined,
  });
  expect([failure, rows]).toEqual([undefined, []]);
});

test.each(['\ufeff', '<a>'])(
  'Azure: an unknown security type is printed as JSON, as in Go: %j',
  async (securityType) => {
    const recorded = await caseOf('azure', 'create-fields/001');
    const spec = recorded.providerSpec as { readonly properties: object };
    const json = JSON.stringify(securityType).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e');
    const errorText = `error in validation of AzureProviderSpec: [providerSpec.properties.securityProfile.securityType: Unsupported value: ${json}: supported values: "ConfidentialVM", "TrustedLaunch"]`;
    const { failure } = await rowsOf(playAzure, {
      ...recorded,
      providerSpec: { ...spec, properties: { ...spec.properties, securityProfile: { securityType } } },
      requests: [],
      result: { response: null, errorCode: 'InvalidArgument', errorText, textIs: 'driver' },
      metrics: undefined,
    });
    expect(failure).toBeUndefined();
  },
);

/** Resolves with the pattern that a rule expects for the text of a call. */
async function patternOf(play: PlayCase, recorded: RecordedCase): Promise<RegExp> {
  let pattern: RegExp | undefined;
  await play(recorded, ({ step, expect: expectationOf }) => {
    pattern = expectationOf(step).expected.result.textMatches;
  });
  if (!pattern) throw new Error(`no rule expects another text in ${recorded.name}`);
  return pattern;
}

const OF_NIC =
  'DELETE /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/a-nic: 403 Forbidden';

test.each<[name: string, place: RegExp, right: string, wrong: readonly string[]]>([
  ['delete/011', /<nil>/, OF_NIC, ['', '<nil>', 'no', 'DELETE a: 403 Forbidden', OF_NIC.replace('403', 'no')]],
  ['marketplace/008', /\{.*\}/, 'pub:off:sku:1.2.3', ['', 'pub', 'pub:off:sku', 'pub off sku 1.2.3']],
  [
    'marketplace/009',
    /\{.*\}/,
    'pub:off:sku:1.2.3: GET https://a/b: 500 InternalError',
    ['', 'pub:off:sku:1.2.3', 'pub:off:sku:1.2.3: failed', 'pub:off:sku:1.2.3: GET https://a/b: failed'],
  ],
])(
  'Azure: %s must have another text that contains exactly the details of its rule',
  async (name, place, right, wrong) => {
    const recorded = await caseOf('azure', name);
    const pattern = await patternOf(playAzure, recorded);
    const text = String(recorded.result?.errorText);
    expect(text.replace(place, () => right)).toMatch(pattern);
    for (const each of wrong) expect(text.replace(place, () => each)).not.toMatch(pattern);
  },
);

const IN_HEADER = 'the driver uses the code in a header if the body is not JSON';

async function refusedWith(reply: object): Promise<RecordedCase> {
  const recorded = await caseOf('azure', 'create-fields/001');
  const put = (recorded.requests ?? []).findIndex(
    ({ method, path }) => method === 'PUT' && path.includes('/virtualMachines/'),
  );
  const requests = (recorded.requests ?? []).slice(0, put + 1);
  return changed(recorded, /virtualMachines\/[^/]*$/, reply, { requests, result: refused, metrics: undefined });
}

const pageWith = (code: string, words: string) => ({
  status: 409,
  headers: { 'x-ms-error-code': code },
  text: `<html>${words}</html>`,
});

test.each([
  ['BadRequest', 'not supported'],
  ['OperationNotAllowed', 'exceeding the quota'],
  ['AllocationFailed', 'no room'],
])('Azure: the code %s in a header counts with the text of a page: %s', async (code, words) => {
  const { failure, rows } = await rowsOf(playAzure, await refusedWith(pageWith(code, words)));
  expect(failure).toBeUndefined();
  expect(rows).toContain(IN_HEADER);
});

test.each([
  ['BadRequest', 'exceeding the quota'],
  ['OperationNotAllowed', 'not supported'],
  ['Conflict', 'exceeding the quota, not supported'],
])('Azure: the code %s in a header is no lack of capacity with the text of a page: %s', async (code, words) => {
  const { failure, rows } = await rowsOf(playAzure, await refusedWith(pageWith(code, words)));
  expect(failure).toBeUndefined();
  expect(rows).not.toContain(IN_HEADER);
});

test('Azure: an unknown priority is reported together with the other problems', async () => {
  const recorded = await caseOf('azure', 'create-fields/001');
  const spec = recorded.providerSpec as { readonly properties: object };
  const errorText =
    'error in validation of AzureProviderSpec: [providerSpec.location: Required value: must provide a location]';
  const wrong: RecordedCase = {
    ...recorded,
    providerSpec: { ...spec, location: '', properties: { ...spec.properties, priority: 'Low' } },
    requests: [],
    result: { response: null, errorCode: 'InvalidArgument', errorText, textIs: 'driver' },
    metrics: undefined,
  };
  const { failure, rows } = await rowsOf(playAzure, wrong);
  expect(failure).toBeUndefined();
  expect(rows).toContain('the driver sends the priority of a class');
});
