import { ArmEndpoint, Ec2Endpoint, GceEndpoint } from '@mcm/cloud-emulators';
import { seededRandom, type Transport, type TransportRequest, VirtualClock } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { createAzureDriver } from '@mcm/provider-azure';
import { createGcpDriver } from '@mcm/provider-gcp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from '../../drivers/aws-environment.ts';
import { Stage } from '../../drivers/rows/stage.ts';
import { ec2Differences, parseXml, stsDifferences } from './ec2-model.ts';
import { differences, readModel } from './json-model.ts';

/** Compares the emulators' responses and the drivers' requests with the models in the libraries of the clouds. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

interface Exchange {
  readonly request: TransportRequest;
  readonly status: number;
  readonly text: string;
}

const recording =
  (seen: Exchange[], transport: Transport): Transport =>
  async (request) => {
    const answer = await transport(request);
    const text = await answer.text();
    seen.push({ request, status: answer.status, text });
    return { ...answer, text: async () => text };
  };

/**
 * Makes all calls of a driver for machines: creations, reads, list calls with several pages, errors of the class, and
 * deletions.
 */
async function live(stage: Stage<never, never>): Promise<void> {
  const ids = new Map<string, string>();
  for (const name of ['m-1', 'm-2', 'm-3']) ids.set(name, (await stage.create({ name })).providerId);
  for (const [name, providerID] of ids) {
    await stage.initialize({ name, providerID }).catch(() => undefined);
    await stage.status({ name, providerID });
    if (stage.canStop) {
      await stage.stop({ name, providerID });
      await stage.start({ name, providerID });
    }
  }
  await stage.status({ name: 'nobody' }).catch(() => undefined);
  expect(await stage.list()).toHaveLength(3);
  for (const [name, providerID] of ids) await stage.delete({ name, providerID });
}

const clock = (): VirtualClock => new VirtualClock({ quietTurns: 8 });
const readFile = async (): Promise<undefined> => undefined;

async function aws(): Promise<readonly Exchange[]> {
  const time = clock();
  const seen: Exchange[] = [];
  const cloud = new Ec2Endpoint({ clock: time, pageSize: 2, shutdownMs: 30_000 });
  const connect = () => recording(seen, cloud.transport);
  const driver = createAwsDriver({
    clock: time,
    random: seededRandom(1),
    connect,
    environment: { variables: AWS_VARIABLES, readFile },
  });
  const spec = {
    ami: 'ami-1',
    region: 'eu-north-1',
    machineType: 'm6i.large',
    iam: { name: 'nodes' },
    blockDevices: [{ ebs: { volumeSize: 42, volumeType: 'gp3' } }],
    networkInterfaces: [{ subnetID: 'subnet-a', securityGroupIDs: ['sg-1'], ipv6PrefixCount: 1, deviceIndex: 0 }],
    tags: { 'kubernetes.io/cluster/ours': '1', 'kubernetes.io/role/node': '<&>' },
    srcAndDstChecksEnabled: false,
  };
  const secret = { providerAccessKeyId: 'AK', providerSecretAccessKey: 's', userData: '#cloud-config' };
  await live(new Stage(time, driver, { provider: 'AWS', spec, secret }) as never);
  return seen;
}

async function azure(): Promise<readonly Exchange[]> {
  const time = clock();
  const seen: Exchange[] = [];
  const cloud = new ArmEndpoint({
    clock: time,
    pageSize: 2,
    plans: { 'p:o:s:1': { name: 'n', publisher: 'p', product: 'o' } },
  });
  const connect = () => recording(seen, cloud.transport);
  const driver = createAzureDriver({
    clock: time,
    random: seededRandom(1),
    connect,
    readFile,
    authorize: async () => 'Bearer test',
    throwAwayKey: async () => 'ssh-rsa NOBODY',
  });
  const image = { urn: 'p:o:s:1' };
  const spec = {
    location: 'northeurope',
    resourceGroup: 'rg',
    subnetInfo: { vnetName: 'net', subnetName: 'nodes' },
    tags: { 'kubernetes.io-cluster-ours': '1', 'kubernetes.io-role-node': '1' },
    properties: {
      zone: 1,
      hardwareProfile: { vmSize: 'Standard_D4s_v5' },
      osProfile: {
        adminUsername: 'core',
        linuxConfiguration: { disablePasswordAuthentication: true, ssh: { publicKeys: { path: '/k' } } },
      },
      networkProfile: { acceleratedNetworking: true },
      identityID: '/subscriptions/s/resourceGroups/r/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i',
      diagnosticsProfile: { enabled: true, storageURI: 'https://store.example' },
      securityProfile: {
        securityType: 'ConfidentialVM',
        uefiSettings: { vtpmEnabled: true, secureBootEnabled: false },
      },
      capacityReservation: {
        capacityReservationGroupID:
          '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/g',
      },
      storageProfile: {
        imageReference: image,
        diskControllerType: 'NVMe',
        osDisk: {
          createOption: 'FromImage',
          diskSizeGB: 50,
          caching: 'None',
          managedDisk: {
            storageAccountType: 'Premium_LRS',
            securityProfile: { securityEncryptionType: 'VMGuestStateOnly' },
          },
        },
        dataDisks: [
          { name: 'd', lun: 0, diskSizeGB: 20, storageAccountType: 'StandardSSD_LRS' },
          { name: 'e', lun: 1, diskSizeGB: 20, storageAccountType: 'StandardSSD_LRS', imageRef: image },
        ],
      },
    },
  };
  const secret = { clientID: 'c', clientSecret: 's', subscriptionID: 'sub', tenantID: 't', userData: '#cloud-config' };
  await live(new Stage(time, driver, { provider: 'Azure', spec, secret }) as never);
  return seen;
}

async function gcp(): Promise<readonly Exchange[]> {
  const time = clock();
  const seen: Exchange[] = [];
  const cloud = new GceEndpoint({ clock: time, pageSize: 2 });
  const connect = () => recording(seen, cloud.transport);
  const driver = createGcpDriver({
    clock: time,
    random: seededRandom(1),
    connect,
    readFile,
    authorize: async () => 'Bearer test',
  });
  const spec = {
    region: 'europe-north1',
    zone: 'europe-north1-b',
    machineType: 'n2-standard-4',
    description: 'nodes',
    canIpForward: true,
    deletionProtection: false,
    minCpuPlatform: 'Intel Ice Lake',
    labels: { a: 'b' },
    disks: [
      {
        boot: true,
        sizeGb: 42,
        type: 'pd-balanced',
        image: 'projects/p/global/images/i',
        labels: { name: 'x' },
        provisionedIops: 3_000,
        provisionedThroughput: 200,
        storagePool: 'pool',
        encryption: { kmsKeyName: 'key', kmsKeyServiceAccount: 'account' },
      },
      { type: 'SCRATCH', interface: 'NVME' },
    ],
    gpu: { acceleratorType: 'nvidia-tesla-t4', count: 1 },
    metadata: [{ key: 'k', value: 'v' }],
    networkInterfaces: [
      {
        network: 'net',
        subnetwork: 'nodes',
        stackType: 'IPV4_IPV6',
        ipv6accessType: 'EXTERNAL',
        ipCidrRange: '/24',
        subnetworkRangeName: 'r',
      },
    ],
    scheduling: { automaticRestart: false, onHostMaintenance: 'TERMINATE', preemptible: true },
    serviceAccounts: [{ email: 'a@b', scopes: ['s'] }],
    tags: ['kubernetes-io-cluster-ours', 'kubernetes-io-role-node'],
    shieldedInstanceConfiguration: { integrityMonitoring: true, secureBoot: true, vtpm: true },
    advancedMachineFeatures: { enableNestedVirtualization: true },
  };
  const secret = { serviceAccountJSON: JSON.stringify({ type: 'service_account', project_id: 'p' }), userData: 'x' };
  const stage = new Stage(time, driver, { provider: 'GCP', spec, secret });
  cloud.faults.order({ on: '^POST instances$', times: 1, failOperation: { code: 'QUOTA_EXCEEDED' } });
  await stage.create().catch(() => undefined);
  await live(stage as never);
  return seen;
}

test('the answers of the EC2 emulator match the schemas of the SDK', async () => {
  const seen = await aws();
  const actions = new Set<string>();
  const found = seen.flatMap(({ request: { body = '' }, status, text }) => {
    const action = new URLSearchParams(body).get('Action') ?? '';
    if (status >= 300) return parseXml(text).name === 'Response' ? [] : [`${action}: an error is ${text}`];
    actions.add(action);
    return ec2Differences(action, parseXml(text));
  });
  expect([...new Set(found)]).toEqual([]);
  expect([...actions].toSorted()).toEqual([
    'AssignIpv6Addresses',
    'DescribeImages',
    'DescribeInstances',
    'ModifyNetworkInterfaceAttribute',
    'RunInstances',
    'StartInstances',
    'StopInstances',
    'TerminateInstances',
  ]);
});

const ARM_ERROR = {
  error: { error: 'inner' },
  inner: { code: 'string', message: 'string', target: 'string' },
} as const;
/** The model of a GCP operation comes from the REST reference, because no library contains the model. */
const OPERATION = {
  operation: {
    id: 'string',
    name: 'string',
    status: 'string',
    startTime: 'string',
    error: 'inner',
    endTime: 'string',
  },
  ...ARM_ERROR,
} as const;
const GRAPH = {
  page: {
    totalRecords: 'number',
    count: 'number',
    resultTruncated: 'string',
    data: ['row'],
    facets: ['any'],
    $skipToken: 'string',
  },
  row: { type: 'string', name: 'string', owner: 'string' },
} as const;
const AGREEMENT = {
  agreement: { id: 'string', name: 'string', type: 'string', properties: 'terms' },
  terms: { accepted: 'bool', signature: 'string', plan: 'string', publisher: 'string', product: 'string' },
} as const;

const ARM_TYPES: readonly (readonly [RegExp, Parameters<typeof differences>[0], string])[] = [
  [/\/instanceView$/, readModel('azure-compute'), 'virtualMachineInstanceView'],
  [/\/virtualMachines\/[^/]+$/, readModel('azure-compute'), 'virtualMachine'],
  [/\/disks\/[^/]+$/, readModel('azure-compute'), 'disk'],
  [/\/artifacttypes\/vmimage\//, readModel('azure-compute'), 'virtualMachineImage'],
  [/\/networkInterfaces\/[^/]+$/, readModel('azure-network'), 'networkInterface'],
  [/\/subnets\/[^/]+$/, readModel('azure-network'), 'subnet'],
  [/\/operations\/[^/]+$/, OPERATION, 'operation'],
  [/ResourceGraph\/resources$/, GRAPH, 'page'],
  [/\/agreements\/current$/, AGREEMENT, 'agreement'],
];

test('the answers of the ARM emulator and the requests of the driver match the models of Azure', async () => {
  const met = new Set<string>();
  const found = (await azure()).flatMap(({ request: { method, path, body }, status, text }) => {
    const [at = ''] = path.split('?');
    if (status >= 300) return text === '' ? [] : differences(ARM_ERROR, 'error', JSON.parse(text), `${method} error`);
    const known = ARM_TYPES.find(([pattern]) => pattern.test(at));
    if (!known) return text === '' ? [] : [`${method} ${at}: answers something`];
    const [, model, type] = known;
    met.add(type);
    return [
      ...(text === '' ? [] : differences(model, type, JSON.parse(text), `${method} ${type} answer`)),
      ...(body && method === 'PUT' ? differences(model, type, JSON.parse(body), `${method} ${type} request`) : []),
    ];
  });
  expect([...new Set(found)]).toEqual([]);
  expect(met.size).toBe(ARM_TYPES.length - 1); // The Azure driver reads the instance view only for a failed machine.
});

const GCE_ERROR = {
  error: { error: 'inner' },
  inner: { code: 'number', message: 'string', errors: ['reason'] },
  reason: { reason: 'string', message: 'string', domain: 'string' },
} as const;
const gce = readModel('gcp');

test('the answers of the Compute Engine emulator and the requests of the driver match the messages of Google', async () => {
  const met = new Set<string>();
  const found = (await gcp()).flatMap(({ request: { method, path, body }, status, text }) => {
    const [at = ''] = path.split('?');
    if (status >= 300) return differences(GCE_ERROR, 'error', JSON.parse(text), 'error');
    const kind =
      at.includes('/operations/') || method !== 'GET'
        ? 'Operation'
        : at.endsWith('/instances')
          ? 'InstanceList'
          : 'Instance';
    met.add(kind);
    return [
      ...differences(gce, kind, JSON.parse(text), `${method} answer`),
      ...(body ? differences(gce, 'Instance', JSON.parse(body), 'request') : []),
    ];
  });
  expect([...new Set(found)]).toEqual([]);
  expect([...met].toSorted()).toEqual(['Instance', 'InstanceList', 'Operation']);
});

const OAUTH = {
  granted: {
    access_token: 'string',
    token_type: 'string',
    expires_in: 'int32',
    ext_expires_in: 'int32',
    scope: 'string',
  },
  refused: {
    error: 'string',
    error_description: 'string',
    error_uri: 'string',
    error_codes: ['number'],
    timestamp: 'string',
    trace_id: 'string',
    correlation_id: 'string',
  },
} as const;
const MUST = { granted: ['access_token', 'token_type', 'expires_in'], refused: ['error'] } as const;
const REFUSALS =
  /^(invalid_request|invalid_client|invalid_grant|unauthorized_client|unsupported_grant_type|invalid_scope)$/;
const DISCOVERY = {
  document: { issuer: 'string', authorization_endpoint: 'string', token_endpoint: 'string', jwks_uri: 'string' },
} as const;

/** Returns the differences between a response of a token endpoint and RFC 6749. */
function oauthDifferences({ status, text }: Pick<Exchange, 'status' | 'text'>): readonly string[] {
  const kind = status < 300 ? 'granted' : 'refused';
  const value: Readonly<Record<string, unknown>> = JSON.parse(text);
  const odd =
    kind === 'refused' && !REFUSALS.test(String(value.error)) ? [`${String(value.error)}: is no refusal`] : [];
  const lacks = MUST[kind].filter((name) => value[name] === undefined).map((name) => `${name}: is not there`);
  return [...differences(OAUTH, kind, value), ...odd, ...lacks];
}

const post =
  (transport: Transport, path: string) =>
  async (form: Readonly<Record<string, string>>): Promise<Exchange> => {
    const seen: Exchange[] = [];
    const body = new URLSearchParams(form).toString();
    await recording(seen, transport)({ method: 'POST', path, headers: {}, body });
    return seen[0] ?? expect.fail('nobody answered');
  };

test('the answers of STS match the schemas of the SDK', async () => {
  const { transport } = new Ec2Endpoint({ clock: clock() });
  const ask = post(transport, '/');
  const claims = Buffer.from(JSON.stringify({ sub: 'ns:robot', iss: 'https://issuer', aud: ['sts'] }));
  const question = {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleSessionName: 's',
    RoleArn: 'arn:aws:iam::1:role/nodes',
    WebIdentityToken: `h.${claims.toString('base64url')}.s`,
  };
  const { status, text } = await ask(question);
  expect([status, stsDifferences(question.Action, parseXml(text))]).toEqual([200, []]);
  const reported = /<SubjectFromWebIdentityToken>ns:robot<.*<Arn>arn:aws:sts::1:assumed-role\/nodes\/s<.*<Credentials>/;
  expect(text).toMatch(reported);
  const refused = await ask({ ...question, WebIdentityToken: '' });
  const { name, children } = parseXml(refused.text);
  expect([refused.status, name, children.map((each) => each.name)]).toEqual([
    400,
    'ErrorResponse',
    ['Error', 'RequestId'],
  ]);
  expect(children[0]?.children.map((each) => each.name)).toEqual(['Type', 'Code', 'Message']);
  // A response of AWS STS without its envelope, or with an unknown field, differs from the model.
  expect(stsDifferences(question.Action, parseXml(text.replaceAll('AssumedRoleId', 'RoleId')))).toEqual([
    'AssumeRoleWithWebIdentity.AssumedRoleUser.RoleId: is not a field of AssumedRoleUser',
  ]);
  expect(stsDifferences(question.Action, parseXml(refused.text))).toEqual(['the response is ErrorResponse']);
});

test('the answers of Azure’s login service match RFC 6749 and OpenID Connect', async () => {
  const principals = [{ tenant: 't', clientId: 'c', secret: 'right' }];
  const { transport } = new ArmEndpoint({ clock: clock(), principals });
  const ask = post(transport, '/t/oauth2/v2.0/token');
  const right = { grant_type: 'client_credentials', client_id: 'c', client_secret: 'right', scope: 's/.default' };
  const granted = await ask(right);
  const refusals = await Promise.all(
    [
      { ...right, client_secret: 'wrong' },
      { ...right, client_id: 'nobody' },
      { ...right, grant_type: 'password' },
      { grant_type: 'client_credentials' },
    ].map(ask),
  );
  refusals.push(await post(transport, '/nowhere/oauth2/v2.0/token')(right));
  expect(granted.status).toBe(200);
  expect(refusals.map(({ status }) => status)).toEqual([401, 400, 400, 400, 400]);
  for (const each of [granted, ...refusals]) expect(oauthDifferences(each)).toEqual([]);
  const answer = await transport({ method: 'GET', path: '/t/v2.0/.well-known/openid-configuration', headers: {} });
  const document = JSON.parse(await answer.text());
  expect(differences(DISCOVERY, 'document', document)).toEqual([]);
  expect(Object.keys(document).toSorted()).toEqual(Object.keys(DISCOVERY.document).toSorted());
  expect(oauthDifferences({ status: 400, text: '{"error":"nope","code":1}' })).toEqual([
    '.code: is not a field of refused',
    'nope: is no refusal',
  ]);
});

test('the answers of Google’s token endpoint match RFC 6749', async () => {
  const time = clock();
  const { transport } = new GceEndpoint({ clock: time, accounts: [] });
  const open = new GceEndpoint({ clock: time });
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const assertion = `${part({ alg: 'RS256' })}.${part({ iss: 'e', scope: 's', exp: time.now().getTime() / 1_000 + 3_600 })}.x`;
  const right = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  const granted = await post(open.transport, '/token')(right);
  const refusals = await Promise.all(
    [right, { ...right, assertion: 'none' }, { ...right, grant_type: 'x' }].map(post(transport, '/token')),
  );
  expect([granted.status, ...refusals.map(({ status }) => status)]).toEqual([200, 400, 400, 400]);
  for (const each of [granted, ...refusals]) expect(oauthDifferences(each)).toEqual([]);
});

test('an unknown field or a field of another type is reported', () => {
  const odd = { name: 5, disks: [{ boot: 'yes', sise: 1 }], labels: { a: 1 }, id: 7 };
  expect(differences(gce, 'Instance', odd)).toEqual([
    '.name: 5 is no string',
    '.disks[0].boot: "yes" is no bool',
    '.disks[0].sise: is not a field of AttachedDisk',
    '.labels.a: 1 is no string',
    '.id: 7 is no uint64',
  ]);
  const xml =
    '<DescribeInstancesResponse xmlns="x"><requestId>r</requestId><reservationSet><item><reservationID>r</reservationID><instancesSet><item><instanceState><code>on</code></instanceState><ebsOptimized>maybe</ebsOptimized></item></instancesSet></item></reservationSet></DescribeInstancesResponse>';
  expect(ec2Differences('DescribeInstances', parseXml(xml))).toEqual([
    'DescribeInstances.reservationSet[0].reservationID: is not a field of Reservation',
    'DescribeInstances.reservationSet[0].instancesSet[0].instanceState.code: on does not have the type 1',
    'DescribeInstances.reservationSet[0].instancesSet[0].ebsOptimized: maybe does not have the type 2',
  ]);
  expect(() => parseXml('<a><b></a>')).toThrow();
});
