import { type CloudInstance, Ec2Endpoint, type Ec2EndpointOptions } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AwsCredentials, type AwsProviderSpec, createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from '../aws-environment.ts';
import { refused, Stage, withSpec } from './stage.ts';

/** The scenarios of AWS. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const TAGS = { 'kubernetes.io/cluster/shoot--x': '1', 'kubernetes.io/role/node': '1' };
const SPEC = {
  ami: 'ami-0abc',
  region: 'eu-west-1',
  machineType: 'm5.large',
  iam: { name: 'nodes-profile' },
  blockDevices: [{ ebs: { volumeType: 'gp3', volumeSize: 50, encrypted: true } }],
  networkInterfaces: [{ subnetID: 'subnet-1', securityGroupIDs: ['sg-1'] }],
  tags: TAGS,
};
const SECRET = { providerAccessKeyId: 'AKIA', providerSecretAccessKey: 's', userData: '#cloud-config\n' };

function open(options: Partial<Ec2EndpointOptions> = {}, variables: object = {}) {
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = new Ec2Endpoint({ clock, images: [{ imageId: 'ami-0abc', rootDeviceName: '/dev/xvda' }], ...options });
  const driver = createAwsDriver({
    clock,
    random: seededRandom(1),
    connect: () => cloud.transport,
    environment: { variables: { ...AWS_VARIABLES, ...variables }, readFile: async () => undefined },
  });
  const stage = new Stage<AwsProviderSpec, AwsCredentials>(clock, driver, {
    provider: 'AWS',
    spec: SPEC,
    secret: SECRET,
  });
  const sent = (action: string) => cloud.seen.filter((each) => each.action === action).map(({ params }) => params);
  const launched = async (change: object, given: Parameters<typeof stage.create>[0] = {}) => {
    await stage.create({ spec: withSpec(SPEC, change), ...given });
    return sent('RunInstances').at(-1) ?? {};
  };
  return { cloud, driver, stage, sent, launched };
}

const vm = (change: Partial<CloudInstance> = {}): CloudInstance => ({
  instanceId: 'i-1',
  state: 'running',
  privateDnsName: 'ip-1.internal',
  tags: { ...TAGS, Name: 'm-1' },
  sourceDestCheck: true,
  networkInterfaces: [
    { networkInterfaceId: 'eni-1', deviceIndex: 0, interfaceType: 'interface', sourceDestCheck: true },
  ],
  ...change,
});
const failing = (action: string, code = 'InternalError', http = 400, more: object = {}) => [
  { action, error: { http, code, message: 'ordered' }, ...more },
];
const device = (change: object) => ({ blockDevices: [{ ebs: { volumeType: 'gp3', volumeSize: 50, ...change } }] });
const nic = (change: object) => ({
  networkInterfaces: [{ subnetID: 'subnet-1', securityGroupIDs: ['sg-1'], ...change }],
});
const ID = 'aws:///eu-west-1/i-1';

describe('creation', () => {
  test('the base spec creates one instance; its ID contains the region, and its node name is its private DNS name [A1]', async () => {
    const { stage, cloud } = open();
    const made = await stage.create();
    expect(made.providerId).toBe(`aws:///eu-west-1/${cloud.instances[0]?.instanceId}`);
    expect(made.nodeName).toBe(cloud.instances[0]?.privateDnsName);
    expect(cloud.instances).toHaveLength(1);
  });

  test('another provider is refused by every method without a request to the cloud [A2]', async () => {
    const { stage, cloud } = open();
    for (const call of Object.values(stage.all({ provider: 'azure' }))) await refused(call(), 'InvalidArgument');
    expect(cloud.seen).toEqual([]);
  });

  test('iam requires either a name or an ARN [A4]', async () => {
    const { stage, launched } = open();
    for (const iam of [{}, { name: 'n', arn: 'a' }])
      await refused(stage.create({ spec: withSpec(SPEC, { iam }) }), 'InvalidArgument', 'providerSpec.iam: Invalid');
    expect(await launched({ iam: { arn: 'arn:1' } })).toMatchObject({ 'IamInstanceProfile.Arn': 'arn:1' });
  });

  test('gp3 without iops and throughput omits both [A7]', async () => {
    const keys = Object.keys(await open().launched({}));
    expect(keys.filter((key) => /Iops|Throughput/.test(key))).toEqual([]);
  });

  test('a missing or unknown volume type is refused [A9]', async () => {
    const { stage } = open();
    for (const volumeType of ['', 'gp4'])
      await refused(
        stage.create({ spec: withSpec(SPEC, device({ volumeType })) }),
        'InvalidArgument',
        'ebs.volumeType: Required',
      );
  });

  test('a volume size of 0 or less is refused [A10]', async () => {
    const { stage } = open();
    for (const volumeSize of [0, -5])
      await refused(
        stage.create({ spec: withSpec(SPEC, device({ volumeSize })) }),
        'InvalidArgument',
        'ebs.volumeSize',
      );
  });

  const two = (change: object = {}) => ({
    blockDevices: [
      { deviceName: '/root', ebs: { volumeType: 'gp3', volumeSize: 50 } },
      { deviceName: '/dev/sdb', ebs: { volumeType: 'gp3', volumeSize: 20, ...change } },
    ],
  });

  test('of two devices, /root gets the name of the image’s root device [A11]', async () => {
    expect(await open().launched(two())).toMatchObject({
      'BlockDeviceMapping.1.DeviceName': '/dev/xvda',
      'BlockDeviceMapping.2.DeviceName': '/dev/sdb',
    });
  });

  test('a spec without block devices passes the validation, and its creation fails [A15]', async () => {
    const { stage, sent } = open();
    await refused(stage.create({ spec: withSpec(SPEC, { blockDevices: [] }) }), 'InvalidArgument');
    expect(await stage.list({ spec: withSpec(SPEC, { blockDevices: [] }) })).toEqual([]);
    expect(sent('RunInstances')).toEqual([]);
  });

  test('deleteOnTermination false is sent only for its own disk [A16]', async () => {
    expect(await open().launched(two({ deleteOnTermination: false }))).toMatchObject({
      'BlockDeviceMapping.1.Ebs.DeleteOnTermination': 'true',
      'BlockDeviceMapping.2.Ebs.DeleteOnTermination': 'false',
    });
  });

  test('a spot price is sent as the maximum price [A18]', async () => {
    const params = await open().launched({ spotPrice: '500' });
    expect(params['InstanceMarketOptions.SpotOptions.MaxPrice']).toBe('500');
  });

  test('market options take precedence over a spot price, and only their type is sent [A19]', async () => {
    const params = await open().launched({ instanceMarketOptions: { marketType: 'capacity-block' }, spotPrice: '500' });
    expect(Object.entries(params).filter(([key]) => key.startsWith('InstanceMarketOptions'))).toEqual([
      ['InstanceMarketOptions.MarketType', 'capacity-block'],
    ]);
  });

  test.each([
    ['no spot instance', {}, undefined],
    ['capacity blocks', { instanceMarketOptions: { marketType: 'capacity-block' }, spotPrice: '' }, undefined],
    ['a spot price', { spotPrice: '' }, 'spot-instances-request'],
    ['market options', { instanceMarketOptions: { marketType: 'spot' } }, 'spot-instances-request'],
  ])('a spot request has the tags of its VM, and only created resources have tags: %s', async (_, spec, tagged) => {
    const params = await open().launched(spec);
    const tagsOf = (kind: number) =>
      Object.entries(params).flatMap(([key, value]) =>
        key.startsWith(`TagSpecification.${kind}.Tag`) ? [[key.replace(/^TagSpecification\.\d/, ''), value]] : [],
      );
    expect(params['TagSpecification.4.ResourceType']).toBe(tagged);
    expect(tagsOf(4)).toEqual(tagged ? tagsOf(1) : []);
    expect(tagsOf(1).length).toBeGreaterThan(2);
  });

  const preference = { capacityReservationPreference: 'open' };
  const byId = { capacityReservationId: 'cr-1' };
  const byArn = { capacityReservationResourceGroupArn: 'arn:1' };

  test('a capacity reservation by preference, ID or ARN is sent to EC2 [A21]', async () => {
    const prefix = 'CapacityReservationSpecification.CapacityReservation';
    const of = async (capacityReservation: object) => open().launched({ capacityReservation });
    expect(await of(preference)).toMatchObject({ [`${prefix}Preference`]: 'open' });
    expect(await of(byId)).toMatchObject({ [`${prefix}Target.CapacityReservationId`]: 'cr-1' });
    expect(await of(byArn)).toMatchObject({ [`${prefix}Target.CapacityReservationResourceGroupArn`]: 'arn:1' });
  });

  test.each([
    { ...preference, ...byId },
    { ...preference, ...byArn },
    { ...byId, ...byArn },
    { ...preference, ...byId, ...byArn },
  ])(
    'a capacity reservation with two or more of preference, ID and ARN is refused: %j [A22]',
    async (capacityReservation) => {
      const { stage } = open();
      await refused(
        stage.create({ spec: withSpec(SPEC, { capacityReservation }) }),
        'InvalidArgument',
        'capacityReservation',
      );
    },
  );

  test('every call refuses a missing provider spec [A23]', async () => {
    const { stage, cloud } = open();
    for (const call of Object.values(stage.all({ spec: undefined })))
      await refused(call(), 'Internal', 'providerSpec: is missing; add the field');
    expect(cloud.seen).toEqual([]);
  });

  test('all missing keys of the secret are reported together [A24]', async () => {
    const { stage } = open();
    const { providerAccessKeyId, providerSecretAccessKey, userData } = SECRET;
    const without = (secret: Record<string, string>, ...words: string[]) =>
      refused(stage.create({ secret }), 'InvalidArgument', ...words);
    await without({ providerSecretAccessKey, userData }, 'secretRef.AWSAccessKeyID');
    await without({ providerAccessKeyId, userData }, 'secretRef.AWSSecretAccessKey');
    await without({ providerAccessKeyId, providerSecretAccessKey }, 'secretRef.userData');
    await without({ userData }, 'secretRef.AWSAccessKeyID', 'secretRef.AWSSecretAccessKey', '[', ']');
  });

  test('an empty workload identity lacks three values [A27]', async () => {
    const { stage } = open();
    const secret = { workloadIdentityTokenFile: '', roleARN: '' };
    const message = await refused(stage.create({ secret }), 'InvalidArgument');
    expect(message.match(/Required value/g)).toHaveLength(3);
  });

  test('missing image and region are reported in this order [A28]', async () => {
    const { stage } = open();
    const message = await refused(stage.create({ spec: withSpec(SPEC, { ami: '', region: '' }) }), 'InvalidArgument');
    expect(message).toMatch(/providerSpec\.ami: Required value.*providerSpec\.region: Required value/s);
  });

  test('a client that cannot be created is Internal, and Uninitialized for initialization [A30]', async () => {
    const { stage, cloud } = open({}, { AWS_PROFILE: 'nobody' });
    for (const call of Object.values(stage.all({}))) await refused(call(), 'Internal');
    await refused(stage.initialize(), 'Uninitialized');
    expect(cloud.seen).toEqual([]);
  });

  test('the annotation sets the placement [A32]', async () => {
    const annotations = { 'machine.sapcloud.io/awsPlacement': '{"hostId":"h-1","partitionNumber":7}' };
    expect(await open().launched({}, { annotations })).toMatchObject({
      'Placement.HostId': 'h-1',
      'Placement.PartitionNumber': '7',
    });
  });

  test('the name of the machine replaces a tag Name of the class [A36]', async () => {
    const { launched, cloud } = open();
    await launched({ tags: { ...TAGS, Name: 'dummy' } });
    expect(cloud.instances[0]?.tags).toEqual({ ...TAGS, Name: 'm-1' });
  });

  test('a refused launch is Internal with the code of EC2 [A37]', async () => {
    const { stage } = open({ script: failing('RunInstances', 'InvalidParameterValue') });
    await refused(stage.create(), 'Internal', 'InvalidParameterValue');
  });

  test.each([
    'InsufficientCapacity',
    'InsufficientAddressCapacity',
    'InsufficientInstanceCapacity',
    'InsufficientVolumeCapacity',
    'InstanceLimitExceeded',
    'VcpuLimitExceeded',
    'VolumeLimitExceeded',
    'MaxIOPSLimitExceeded',
    'RouteLimitExceeded',
    'Unsupported',
  ])('a launch without capacity is ResourceExhausted: %s [A38]', async (code) => {
    const { stage, sent } = open({ script: failing('RunInstances', code, 500) });
    await refused(stage.create(), 'ResourceExhausted', code);
    expect(sent('RunInstances')).toHaveLength(1);
  });

  test('an instance that never becomes visible is kept and reported [A39]', async () => {
    const { stage, cloud } = open({ visibleAfterMs: 86_400_000 });
    const message = await refused(stage.create(), 'Internal');
    expect(message).toContain(`aws:///eu-west-1/${cloud.instances[0]?.instanceId}`);
    expect(cloud.instances.map(({ state }) => state)).toEqual(['running']);
  });

  test.each([
    [{ networkInterfaces: [] }, 'networkInterfaces'],
    [nic({ subnetID: '' }), 'subnetID'],
    [nic({ securityGroupIDs: [] }), 'securityGroupIDs'],
    [nic({ securityGroupIDs: ['sg-1', ''] }), 'securityGroupIDs'],
  ])('network interfaces with missing fields are refused: %j [A40]', async (change, field) => {
    await refused(open().stage.create({ spec: withSpec(SPEC, change) }), 'InvalidArgument', field);
  });

  test.each([
    [nic({ interfaceType: 'invalid' }), 'interfaceType: Unsupported value'],
    [nic({ deviceIndex: -1 }), 'deviceIndex: Invalid value'],
    [nic({ networkCardIndex: -1 }), 'networkCardIndex: Invalid value'],
  ])('network interfaces with invalid fields are refused: %j [A41]', async (change, words) => {
    await refused(open().stage.create({ spec: withSpec(SPEC, change) }), 'InvalidArgument', words);
  });

  test('valid metadata options are sent, and invalid ones are refused [A42]', async () => {
    const { launched, stage } = open();
    const of = (options: object) => ({ instanceMetadataOptions: options });
    expect(await launched(of({ httpPutResponseHopLimit: 32 }))).toMatchObject({
      'MetadataOptions.HttpPutResponseHopLimit': '32',
    });
    for (const bad of [
      { httpPutResponseHopLimit: 72 },
      { httpEndpoint: 'foobar' },
      { httpTokens: 'foobar' },
      { httpProtocolIpv6: 'foobar' },
    ])
      await refused(
        stage.create({ spec: withSpec(SPEC, of(bad)) }),
        'InvalidArgument',
        `providerSpec.instanceMetadata.${Object.keys(bad)[0]}`,
      );
  });

  test.each([{ threadsPerCore: 2 }, { coreCount: 8 }, { coreCount: 8, threadsPerCore: 3 }, { amdSevSnp: 'invalid' }])(
    'invalid CPU options are refused: %j [A43]',
    async (cpuOptions) => {
      await refused(open().stage.create({ spec: withSpec(SPEC, { cpuOptions }) }), 'InvalidArgument', 'cpuOptions');
    },
  );

  test('valid CPU options are sent to EC2 [A44]', async () => {
    const both = { coreCount: 8, threadsPerCore: 2 };
    const sent = { 'CpuOptions.CoreCount': '8', 'CpuOptions.ThreadsPerCore': '2' };
    expect(await open().launched({ cpuOptions: both })).toMatchObject(sent);
    expect(await open().launched({ cpuOptions: { ...both, amdSevSnp: 'enabled' } })).toMatchObject({
      ...sent,
      'CpuOptions.AmdSevSnp': 'enabled',
    });
  });
});

describe('initialization', () => {
  test('a VM that needs no initialization is only read [A45]', async () => {
    const { stage, cloud } = open({ instances: [vm()] });
    expect(await stage.initialize()).toEqual({ providerId: ID, nodeName: 'ip-1.internal' });
    expect(cloud.seen.map(({ action }) => action)).toEqual(['DescribeInstances']);
  });

  test('a failed look-up does not count as a missing VM [A46]', async () => {
    const { stage } = open({ instances: [vm()], script: failing('DescribeInstances', 'InternalFailure') });
    await refused(stage.initialize(), 'Internal');
  });

  test('the initialization of a missing VM is Uninitialized, with and without a provider ID [A47]', async () => {
    const { stage } = open();
    await refused(stage.initialize(), 'Uninitialized', 'code = [NotFound]');
    await refused(stage.initialize({ providerID: ID }), 'Uninitialized', 'code = [NotFound]');
  });
});

describe('deletion', () => {
  test('a VM with a provider ID is terminated once [A48]', async () => {
    const { stage, sent, cloud } = open({ instances: [vm()] });
    await stage.delete({ providerID: ID });
    expect(sent('TerminateInstances')).toHaveLength(1);
    expect(cloud.instances[0]?.state).toBe('shutting-down');
  });

  test('a deletion with a provider ID that EC2 does not know succeeds [A49]', async () => {
    const { stage, sent } = open();
    await stage.delete({ providerID: ID });
    expect(sent('TerminateInstances')).toHaveLength(1);
  });

  test('without a provider ID and a VM, nothing is terminated [A50]', async () => {
    const { stage, sent } = open({ instances: [vm({ tags: { ...TAGS, Name: 'other' } })] });
    await stage.delete();
    expect(sent('TerminateInstances')).toEqual([]);
  });

  test('without a provider ID, the only VM with the name of the machine is terminated [A51]', async () => {
    const { stage, cloud } = open({ instances: [vm(), vm({ instanceId: 'i-2', tags: { ...TAGS, Name: 'other' } })] });
    await stage.delete();
    expect(cloud.instances.map(({ state }) => state)).toEqual(['shutting-down', 'running']);
  });

  test('without a provider ID, a failed look-up is an error [A52]', async () => {
    const { stage, cloud } = open({ instances: [vm()], script: failing('DescribeInstances', 'InternalFailure') });
    await refused(stage.delete(), 'Internal');
    expect(cloud.instances[0]?.state).toBe('running');
  });
});

describe('status and listing', () => {
  test('with the provider ID of a missing VM, nothing is found [A54]', async () => {
    await refused(open().stage.status({ providerID: ID }), 'NotFound');
  });

  test('two VMs with one name are OutOfRange with both IDs [A55]', async () => {
    const { stage } = open({ instances: [vm(), vm({ instanceId: 'i-2' })] });
    await refused(stage.status(), 'OutOfRange', 'i-1', 'i-2');
  });

  const checking = { srcAndDstChecksEnabled: false };

  test('status is Uninitialized while a NIC still has its source check [A56]', async () => {
    const { stage } = open({ instances: [vm()] });
    await refused(stage.status({ spec: withSpec(SPEC, checking) }), 'Uninitialized', 'SourceDestCheck');
    // The original returns the data of the VM with the error.
    expect(await stage.initialize({ spec: withSpec(SPEC, checking) })).toEqual({
      providerId: ID,
      nodeName: 'ip-1.internal',
    });
    expect(await stage.status({ spec: withSpec(SPEC, checking) })).toMatchObject({ providerId: ID });
  });

  test('status is Uninitialized while an IPv6 prefix is missing [A57]', async () => {
    const spec = withSpec(SPEC, nic({ ipv6PrefixCount: 1 }));
    const { stage } = open({ instances: [vm()] });
    await refused(stage.status({ spec }), 'Uninitialized', 'Ipv6PrefixCount=1');
    expect(await stage.initialize({ spec })).toEqual({ providerId: ID, nodeName: 'ip-1.internal' });
    expect(await stage.status({ spec })).toMatchObject({ providerId: ID });
  });

  const several = Array.from({ length: 3 }, (_, i) => vm({ instanceId: `i-${i}`, tags: { ...TAGS, Name: `m-${i}` } }));

  test('if one page fails, the listing returns no VMs [A59]', async () => {
    const script = failing('DescribeInstances', 'InternalFailure', 400, { after: 1 });
    await refused(open({ instances: several, pageSize: 1, script }).stage.list(), 'Internal');
  });

  test('a repeated token ends the pages without an error [A60]', async () => {
    const { stage, sent } = open({ instances: several, pageSize: 1, repeatToken: true });
    expect((await stage.list()).length).toBe(2);
    expect(sent('DescribeInstances')).toHaveLength(2);
  });

  test('the driver returns the IDs of EBS volumes, and none for other volumes [A61]', () => {
    const ids = open().driver.volumeIds?.([
      { awsElasticBlockStore: { volumeID: 'aws://zone/vol-x' } },
      { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-y' } },
      { csi: { driver: 'pd.csi.storage.gke.io', volumeHandle: 'z' } },
      { hostPath: { path: '/' } },
    ]);
    expect(ids).toEqual(['vol-x', 'vol-y', undefined, undefined]);
  });
});
