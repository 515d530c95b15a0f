import { gzipSync } from 'node:zlib';
import { GceEndpoint, type GceEndpointOptions } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createGcpDriver, type GcpCredentials, type GcpProviderSpec } from '@mcm/provider-gcp';
import { describe, expect, test } from 'vitest';
import { type Given, refused, Stage, withSpec } from './stage.ts';

/** The scenarios of GCP. */

const TAGS = ['shoot--x', 'kubernetes-io-cluster-shoot--x', 'kubernetes-io-role-node'];
const SPEC = {
  region: 'europe-west1',
  zone: 'europe-west1-b',
  machineType: 'n2-standard-4',
  disks: [{ boot: true, sizeGb: 50, type: 'pd-ssd', image: 'projects/p/global/images/i' }],
  networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
  scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE', preemptible: false },
  tags: TAGS,
};
const ACCOUNT = JSON.stringify({ type: 'service_account', project_id: 'p' });
const SECRET = { serviceAccountJSON: ACCOUNT, userData: '#cloud-config\n' };
const ID = 'gce:///p/europe-west1-b/m-1';

function open(options: Partial<GceEndpointOptions> = {}) {
  const clock = new VirtualClock();
  const cloud = new GceEndpoint({ clock, ...options });
  const sent: { readonly label: string; readonly body: Record<string, unknown> }[] = [];
  const driver = createGcpDriver({
    clock,
    random: seededRandom(1),
    connect: () => async (request) => {
      const label = `${request.method} ${request.path.replace(/\?.*/, '').split('/').slice(7).join('/')}`;
      sent.push({ label, body: JSON.parse(request.body ?? '{}') });
      return cloud.transport(request);
    },
    readFile: async () => undefined,
    authorize: async () => 'Bearer test',
  });
  const stage = new Stage<GcpProviderSpec, GcpCredentials>(clock, driver, {
    provider: 'GCP',
    spec: SPEC,
    secret: SECRET,
  });
  const inserted = async (change: object = {}, given: Given = {}) => {
    await stage.create({ spec: withSpec(SPEC, change), ...given });
    return sent.find(({ label }) => label === 'POST instances')?.body ?? {};
  };
  const bad = (change: object, ...words: string[]) =>
    refused(stage.create({ spec: withSpec(SPEC, change) }), 'Internal', ...words);
  const place = (name: string, tags = TAGS) => cloud.place('p', 'europe-west1-b', { name, tags: { items: tags } });
  return { cloud, driver, stage, sent, inserted, bad, place };
}

const nic = (change: object) => ({ networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true, ...change }] });
const disk = (change: object) => ({ disks: [{ ...SPEC.disks[0], ...change }] });
const failing = (on: string, status: number, code: string, message = 'ordered') => ({
  on,
  refuse: { status, code, message },
});

describe('creation', () => {
  test('the driver reads the credentials under their third name [G2]', async () => {
    const { stage } = open();
    const secret = { credentialsConfig: ACCOUNT, userData: 'x' };
    expect(await stage.create({ secret })).toMatchObject({ providerId: ID });
  });

  test('nested virtualization is sent to Compute Engine [G3]', async () => {
    const features = { enableNestedVirtualization: true };
    expect(await open().inserted({ advancedMachineFeatures: features })).toMatchObject({
      advancedMachineFeatures: features,
    });
  });

  test('the type of a balanced disk is sent to Compute Engine [G4]', async () => {
    const { disks } = await open().inserted(disk({ type: 'pd-balanced' }));
    expect(disks).toMatchObject([{ initializeParams: { diskType: expect.stringMatching(/\/pd-balanced$/) } }]);
  });

  test('calls that need only the zone refuse a missing zone without a request [G7]', async () => {
    const { stage, sent } = open();
    const { delete: remove, status, list } = stage.all({ spec: withSpec(SPEC, { zone: '' }) });
    for (const call of [remove, status, list])
      await refused(call(), 'Internal', 'validateZone', 'code = [InvalidArgument]', 'zone cannot be empty');
    expect(sent).toEqual([]);
  });

  test('every call refuses a missing provider spec without a request [G8]', async () => {
    const { stage, sent } = open();
    for (const call of Object.values(stage.all({ spec: undefined })))
      await refused(call(), 'Internal', 'decodeProviderSpec', 'providerSpec: is missing; add the field');
    expect(sent).toEqual([]);
  });

  test('an empty Secret lacks two keys [G9]', async () => {
    await refused(open().stage.create({ secret: {} }), 'Internal', 'validateSecret', 'serviceAccountJSON', 'userData');
  });

  test('a Secret without user data is refused [G10]', async () => {
    await refused(
      open().stage.create({ secret: { serviceAccountJSON: ACCOUNT } }),
      'Internal',
      'validateSecret',
      'userData',
    );
  });

  test('a project ID that is a number is refused without a request [G11]', async () => {
    const { stage, sent } = open();
    const serviceAccountJSON = JSON.stringify({ type: 'service_account', project_id: 7 });
    await refused(stage.create({ secret: { ...SECRET, serviceAccountJSON } }), 'Internal', 'project_id');
    expect(sent).toEqual([]);
  });

  test('disk encryption without the name of a key is refused [G15]', async () => {
    await open().bad(disk({ encryption: { kmsKeyServiceAccount: 'sa' } }), 'spec.disks[0].kmsKeyName');
  });

  test('an operation that fails because of missing capacity or quota is ResourceExhausted [G26]', async () => {
    for (const code of ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', 'QUOTA_EXCEEDED']) {
      const { stage, cloud } = open();
      cloud.faults.order({ on: '^POST instances$', failOperation: { code, message: 'no room' } });
      await refused(stage.create(), 'ResourceExhausted', 'no room');
    }
  });

  test('the last of several errors of an operation counts [G27]', async () => {
    const clock = new VirtualClock();
    const errors = [
      { code: 'QUOTA_EXCEEDED', message: 'quota' },
      { code: 'OTHER', message: 'something else' },
    ];
    const driver = createGcpDriver({
      clock,
      random: seededRandom(1),
      connect: () => async () => ({
        status: 200,
        headers: { get: () => null },
        text: async () => JSON.stringify({ name: 'operation-1', status: 'DONE', error: { errors } }),
        body: null,
      }),
      readFile: async () => undefined,
      authorize: async () => 'Bearer test',
    });
    const stage = new Stage(clock, driver, { provider: 'GCP', spec: SPEC, secret: SECRET });
    await refused(stage.create(), 'Internal', 'quota', 'something else');
  });

  test('a machine type that does not exist in the zone is ResourceExhausted [G28]', async () => {
    const { stage, cloud } = open();
    cloud.faults.order(failing('^POST instances$', 400, 'invalid', "Machine type 'x' does not exist in zone 'z'."));
    await refused(stage.create(), 'ResourceExhausted', 'does not exist in zone');
  });

  test('an insertion is refused because of its quota, or because another owner has the name [G29]', async () => {
    const quota = open();
    quota.cloud.faults.order(failing('^POST instances$', 403, 'quotaExceeded'));
    await refused(quota.stage.create(), 'ResourceExhausted', 'quotaExceeded');
    const taken = open();
    taken.place('m-1', ['other']);
    await refused(taken.stage.create(), 'Internal', 'alreadyExists');
  });

  test('cloud-config and scripts have separate metadata keys [G31]', async () => {
    const items = async (userData: string) => (await open().inserted({}, { userData })).metadata;
    expect(await items('#cloud-config\n')).toMatchObject({ items: [{ key: 'user-data', value: '#cloud-config\n' }] });
    expect(await items('#!/bin/bash')).toMatchObject({ items: [{ key: 'startup-script', value: '#!/bin/bash' }] });
  });

  test('binary user data is sent as base64, and a key contains the encoding', async () => {
    const userData = gzipSync('#cloud-config\n');
    const value = userData.toString('base64');
    const encoding = { key: 'user-data-encoding', value: 'base64' };
    const items = async (metadata: readonly object[]) => {
      const body = await open().inserted({ metadata }, { userData });
      return (body.metadata as { items: readonly object[] }).items;
    };
    expect(await items([{ key: 'a', value: 'b' }])).toEqual([
      { key: 'user-data', value },
      encoding,
      { key: 'a', value: 'b' },
    ]);
    expect(await items([encoding])).toEqual([{ key: 'user-data', value }, encoding]);
    const other = open().stage.create({ spec: { ...SPEC, metadata: [{ ...encoding, value: 'plain' }] }, userData });
    await refused(other, 'InvalidArgument', 'providerSpec.metadata[0].value', 'plain', 'remove the entry');
  });

  test('metadata must not contain user data [G32]', async () => {
    await open().bad({ metadata: [{ key: 'user-data', value: 'x' }] }, 'user-data');
  });

  test('the maintenance policy is required [G34]', async () => {
    for (const onHostMaintenance of ['', 'foo'])
      await open().bad({ scheduling: { ...SPEC.scheduling, onHostMaintenance } }, 'onHostMaintenance');
  });

  test('a dual-stack interface with a secondary range gets an alias range [G36]', async () => {
    const change = nic({
      stackType: 'IPV4_IPV6',
      ipv6accessType: 'EXTERNAL',
      subnetworkRangeName: 'r',
      ipCidrRange: '/24',
    });
    expect((await open().inserted(change)).networkInterfaces).toMatchObject([
      {
        stackType: 'IPV4_IPV6',
        ipv6AccessType: 'EXTERNAL',
        aliasIpRanges: [{ ipCidrRange: '/24', subnetworkRangeName: 'r' }],
      },
    ]);
  });

  test('a single-stack interface with alias addresses gets an alias range [G37]', async () => {
    const change = nic({ useAliasIPs: true, stackType: 'IPV4_ONLY', ipCidrRange: '/24', subnetworkRangeName: 'r' });
    expect((await open().inserted(change)).networkInterfaces).toMatchObject([
      { stackType: 'IPV4_ONLY', aliasIpRanges: [{ ipCidrRange: '/24', subnetworkRangeName: 'r' }] },
    ]);
  });

  test.each([
    nic({ ipCidrRange: '24' }),
    nic({ ipCidrRange: '/33' }),
    nic({ ipCidrRange: '/x' }),
    nic({ stackType: 'X' }),
    nic({ ipv6accessType: 'X' }),
    nic({ subnetwork: '', network: '' }),
  ])('an invalid network interface is refused: %j [G39]', async (change) => {
    await open().bad(change, 'spec.networkInterfaces');
  });

  test('a VM gets an external address, unless the class disables it [G40]', async () => {
    const [without] = (await open().inserted()).networkInterfaces as Record<string, unknown>[];
    expect(without).not.toHaveProperty('accessConfigs');
    const [wanted] = (await open().inserted(nic({ disableExternalIP: false }))).networkInterfaces as Record<
      string,
      unknown
    >[];
    expect(wanted?.accessConfigs).toEqual([{}]);
  });

  test('a disk is deleted with its instance, unless autoDelete is false [G41]', async () => {
    expect((await open().inserted()).disks).toMatchObject([{ autoDelete: true }]);
    // As in the original, the request omits `autoDelete` if the value is false.
    const [kept] = (await open().inserted(disk({ autoDelete: false }))).disks as Record<string, unknown>[];
    expect(kept?.autoDelete ?? false).toBe(false);
  });

  const external = {
    type: 'external_account',
    project_id: 'p',
    audience: 'a',
    token_url: 'https://sts.googleapis.com/v1/token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    credential_source: { file: '/var/run/secrets/gardener.cloud/workload-identity/token' },
  };

  test.each([
    { type: 'authorized_user', project_id: 'p' },
    { type: 'service_account', project_id: 'p', proxy: 'x' },
    { ...external, token_url: 'https://sts.example.com/v1/token' },
    { ...external, credential_source: { file: '/etc/passwd' } },
  ])('credentials that could redirect the driver to another server are refused: %j [G42]', async (account) => {
    const { stage, sent } = open();
    await refused(stage.create({ secret: { ...SECRET, serviceAccountJSON: JSON.stringify(account) } }), 'Internal');
    expect(sent).toEqual([]);
  });
});

describe('deletion', () => {
  test('the deletion of a missing VM is NotFound [G16]', async () => {
    await refused(open().stage.delete(), 'NotFound');
  });

  test('a machine is looked up and deleted, and the driver waits for the end of the operation [G17]', async () => {
    const { stage, cloud, place, sent } = open();
    place('m-1');
    await stage.delete();
    expect(cloud.names()).toEqual([]);
    expect(
      sent.map(({ label }) => label.replace(/operation-\d+/, 'o')).filter((label, i, all) => label !== all[i - 1]),
    ).toEqual(['GET instances', 'DELETE instances/m-1', 'GET operations/o']);
  });

  test('a deletion whose look-up is refused deletes nothing [G18]', async () => {
    const { stage, cloud, place } = open();
    place('m-1');
    cloud.faults.order(failing('^GET instances$', 400, 'invalid'));
    await refused(stage.delete(), 'Internal');
    expect(cloud.names()).toEqual(['m-1']);
  });

  test('the deletion of a VM that disappears after the look-up succeeds [G19]', async () => {
    const { stage, cloud, place } = open();
    place('m-1');
    cloud.faults.order(failing('^DELETE instances$', 404, 'notFound'));
    expect(await stage.delete()).toBeUndefined();
  });
});

describe('status and listing', () => {
  test('created VMs are listed [G20]', async () => {
    const { stage } = open();
    await stage.create();
    expect(await stage.list()).toMatchObject([{ providerId: ID, machineName: 'm-1' }]);
  });

  test('the list reads six instances on three pages [G21]', async () => {
    const { stage, place, sent } = open({ pageSize: 2 });
    for (let i = 0; i < 6; i++) place(`m-${i}`);
    expect(await stage.list()).toHaveLength(6);
    expect(sent).toHaveLength(3);
  });

  test('a class without the tags of cluster and role causes no request [G23]', async () => {
    const { stage, place, sent } = open();
    place('m-1', []);
    await refused(stage.status({ spec: withSpec(SPEC, { tags: ['shoot--x'] }) }), 'NotFound');
    expect(sent).toEqual([]);
  });

  test('status returns the same IDs as the creation [G24]', async () => {
    const { stage } = open();
    const { providerId, nodeName } = await stage.create();
    expect(await stage.status()).toEqual({ providerId, nodeName });
  });

  test('a refused listing does not mean that the VM does not exist [G25]', async () => {
    const { stage, cloud } = open();
    cloud.faults.order(failing('^GET instances$', 400, 'invalid'));
    await refused(stage.status(), 'Internal');
  });

  test('the driver returns the names of persistent disks, and none for other volumes [G43]', () => {
    const ids = open().driver.volumeIds?.([
      { gcePersistentDisk: { pdName: 'd' } },
      { csi: { driver: 'pd.csi.storage.gke.io', volumeHandle: 'projects/p/zones/z/disks/e' } },
      { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } },
      { hostPath: { path: '/' } },
      {},
    ]);
    expect(ids).toEqual(['d', 'projects/p/zones/z/disks/e', undefined, undefined, undefined]);
  });
});
