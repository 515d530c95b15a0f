import { type CloudInstance, Ec2Endpoint, type Ec2EndpointOptions, GceEndpoint } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from './aws-environment.ts';
import { failing, reply, Wire } from './endpoints/wire.ts';
import { aws, azure, gcp } from './providers.ts';
import { refused, Stage } from './rows/stage.ts';
import { wired } from './wired.ts';

/**
 * Tests for bugs in the original's drivers. These bugs leave VMs behind, delete VMs of other clusters, or block
 * machines.
 */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

describe('aws', () => {
  const { machineClass, secret } = aws();
  const SPEC = machineClass.providerSpec as { readonly networkInterfaces: readonly object[]; readonly tags: object };
  const [NIC = {}] = SPEC.networkInterfaces;
  const ID = 'aws:///eu-north-1/i-1';

  function open(options: Partial<Ec2EndpointOptions> = {}, change: object = {}) {
    const clock = new VirtualClock({ quietTurns: 8 });
    const cloud = new Ec2Endpoint({ clock, ...options });
    const wire = new Wire(clock, cloud.transport);
    const driver = createAwsDriver({
      clock,
      random: seededRandom(1),
      connect: wire.connect,
      environment: { variables: AWS_VARIABLES, readFile: async () => undefined },
    });
    const base = { provider: 'AWS', spec: { ...SPEC, ...change }, secret: { userData: '#', ...secret } };
    const sent = (action: string): readonly object[] =>
      cloud.seen.filter((each) => each.action === action).map(({ params }) => params);
    return { cloud, wire, sent, stage: new Stage(clock, driver, base) };
  }

  const eni = (deviceIndex: number, more: object = {}) => ({
    networkInterfaceId: `eni-${deviceIndex}`,
    deviceIndex,
    interfaceType: 'interface',
    sourceDestCheck: false,
    ...more,
  });
  const vm = (networkInterfaces: CloudInstance['networkInterfaces'], change: Partial<CloudInstance> = {}) => ({
    instances: [
      {
        instanceId: 'i-1',
        state: 'running',
        privateDnsName: 'ip-1',
        sourceDestCheck: false,
        tags: { ...SPEC.tags, Name: 'm-1' } as Record<string, string>,
        ...(networkInterfaces ? { networkInterfaces } : {}),
        ...change,
      },
    ],
  });

  test('the check of a second interface is disabled even if the first is already disabled, and is not reported repeatedly', async () => {
    const { stage, sent } = open(vm([eni(0), eni(1, { sourceDestCheck: true })]), {
      networkInterfaces: [{}, {}].map(() => ({ ...NIC, ipv6PrefixCount: 0 })),
    });
    await refused(stage.status(), 'Uninitialized', 'SourceDestCheck=true');
    await stage.initialize();
    expect(sent('ModifyNetworkInterfaceAttribute')).toContainEqual(
      expect.objectContaining({ NetworkInterfaceId: 'eni-1' }),
    );
    await stage.status();
  });

  test('a machine with more IPv6 prefixes than wanted is initialized without a request for a negative number', async () => {
    const { stage, sent } = open(vm([eni(0, { ipv6Prefixes: ['a::/80', 'b::/80'] })]));
    await stage.status();
    await stage.initialize();
    expect(sent('AssignIpv6Addresses')).toEqual([]);
  });

  test('prefixes are assigned to the interface with the entry’s device index and network card', async () => {
    const plain = { ...NIC, ipv6PrefixCount: 0 };
    const cards = [
      plain,
      { ...plain, deviceIndex: 1, networkCardIndex: 1, ipv6PrefixCount: 2 },
      { ...plain, deviceIndex: 1 },
    ];
    const there = [
      eni(0, { networkCardIndex: 0 }),
      eni(1, { networkInterfaceId: 'eni-of-card-1', networkCardIndex: 1 }),
      eni(1, { networkInterfaceId: 'eni-of-card-0', networkCardIndex: 0 }),
    ];
    const { stage, sent } = open(vm(there), { networkInterfaces: cards });
    await refused(stage.status(), 'Uninitialized', 'eni-of-card-1', 'NetworkInterfaces[1].Ipv6PrefixCount=2');
    await stage.initialize();
    expect(sent('AssignIpv6Addresses')).toEqual([
      expect.objectContaining({ NetworkInterfaceId: 'eni-of-card-1', Ipv6PrefixCount: '2' }),
    ]);
    await stage.status();
  });

  test('a terminated VM does not count as a VM, even if it is found by its ID', async () => {
    const { stage } = open(vm(undefined, { state: 'terminated' }));
    await refused(stage.status({ providerID: ID }), 'NotFound');
  });

  const ended = (id: string, code: string) =>
    reply(
      200,
      `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>${id}</instanceId><instanceState><code>48</code><name>terminated</name></instanceState><stateReason><code>${code}</code><message>said why</message></stateReason></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
    );

  test.each([
    ['Client.InternalError', 'Internal'],
    ['Client.VolumeLimitExceeded', 'ResourceExhausted'],
    ['Server.InsufficientInstanceCapacity', 'ResourceExhausted'],
  ])('a failed launch is reported with its reason, and then repeated: %s', async (reason, code) => {
    const { stage, wire, cloud, sent } = open();
    wire.script = ({ body = '' }) =>
      body.includes('Action=DescribeInstances&') ? ended(cloud.instances[0]?.instanceId ?? '', reason) : undefined;
    await refused(stage.create(), code, `${reason}: said why`);
    for (const instance of cloud.instances) instance.state = 'terminated';
    wire.script = () => undefined;
    const { providerId } = await stage.create();
    expect(providerId).toContain(cloud.instances[1]?.instanceId ?? 'a second VM');
    expect(sent('RunInstances')).toHaveLength(3);
  });
});

test('gcp: a class without cluster or role tag creates no VM, because no listing would find it', async () => {
  for (const [tags, lacks] of [
    [undefined, 'kubernetes-io-cluster-'],
    [['kubernetes-io-cluster-ours'], 'kubernetes-io-role-'],
    [['kubernetes-io-role-node', 'x'], 'kubernetes-io-cluster-'],
  ] as const) {
    const { wire, stage } = wired(gcp(), { tags });
    await refused(stage.create(), 'Internal', 'spec.tags: Required value', lacks, 'mcm needs this tag to find the VMs');
    expect(wire.sent).toEqual([]);
  }
  const { wire, stage } = wired(gcp(), { tags: ['b', 'kubernetes-io-cluster-ours', 'b', 'kubernetes-io-role-node'] });
  await stage.create();
  const body = wire.sent.find(({ method }) => method === 'POST')?.body ?? '{}';
  expect(JSON.parse(body).tags.items).toEqual(['b', 'kubernetes-io-cluster-ours', 'b', 'kubernetes-io-role-node']);
});

test('azure: resources of the cluster ours-too are not listed for the cluster ours', async () => {
  const { stage, wire } = wired(azure());
  const row = (name: string, cluster: string) => ({
    type: 'microsoft.compute/virtualmachines',
    name,
    tagKeys: [cluster, 'kubernetes.io-role-node'],
  });
  const data = [row('m-1', 'kubernetes.io-cluster-ours'), row('other', 'kubernetes.io-cluster-ours-too')];
  wire.script = failing('ResourceGraph', () => reply(200, { totalRecords: 2, data }));
  expect((await stage.list()).map(({ machineName }) => machineName)).toEqual(['m-1']);
});

test('azure: an incomplete listing of Resource Graph is an error', async () => {
  const { stage, wire } = wired(azure());
  const data = [{ type: 'microsoft.compute/virtualmachines', name: 'm-1' }];
  wire.script = failing('ResourceGraph', () =>
    reply(200, { totalRecords: 2, count: 1, resultTruncated: 'true', data }),
  );
  await refused(stage.list(), 'Internal', 'returned an incomplete list');
});

test('gcp: a request ID that a deleted VM or a failed request of an earlier process has used is replaced by the next ID', async () => {
  const provider = gcp();
  const clock = new VirtualClock();
  const cloud = new GceEndpoint({ clock });
  const { machineClass, secret } = provider;
  const start = () =>
    new Stage(clock, provider.driver({ clock, random: seededRandom(1), connect: () => cloud.transport }), {
      provider: 'GCP',
      spec: machineClass.providerSpec ?? {},
      secret: { userData: '#', ...secret },
    });
  const stage = start();
  await stage.create();
  await stage.delete();
  expect(cloud.names()).toEqual([]);
  await stage.create();
  expect(cloud.names()).toEqual(['m-1']);
  cloud.faults.order({ on: '^POST instances$', times: 1, failOperation: { code: 'ZONE_RESOURCE_POOL_EXHAUSTED' } });
  await refused(stage.create({ name: 'm-2' }), 'ResourceExhausted');
  await start().create({ name: 'm-2' });
  expect(cloud.names()).toEqual(['m-1', 'm-2']);
});
