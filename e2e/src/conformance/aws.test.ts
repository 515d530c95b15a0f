import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, runConformance, SCENARIOS } from '@mcm/conformance';
import { VirtualClock } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { warmUp } from '../clouds/warm-up-aws.ts';

const VARIABLES = {
  AWS_ENDPOINT_URL: 'http://127.0.0.1:5000',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
};
const before = { ...process.env };
beforeAll(async () => {
  Object.assign(process.env, VARIABLES);
  await warmUp(VARIABLES);
});
afterAll(() => {
  for (const name of Object.keys(VARIABLES)) delete process.env[name];
  Object.assign(process.env, before);
});

const tags = (cluster: string) => ({ [`kubernetes.io/cluster/${cluster}`]: '1', 'kubernetes.io/role/node': '1' });
const spec = {
  ami: 'ami-0f00dcafe12345678',
  region: 'eu-north-1',
  machineType: 'm6i.large',
  iam: { name: 'nodes' },
  blockDevices: [{ ebs: { volumeSize: 42, volumeType: 'gp3', encrypted: true } }],
  networkInterfaces: [{ subnetID: 'subnet-1', securityGroupIDs: ['sg-1'], ipv6PrefixCount: 1 }],
  tags: tags('ours'),
  srcAndDstChecksEnabled: false,
};

const refusal = (status: number, code: string) => ({
  status,
  body: `<Response><Errors><Error><Code>${code}</Code><Message>{message}</Message></Error></Errors></Response>`,
});

const target = (visibleAfterMs: number): ConformanceTarget => ({
  name: 'aws',
  openCloud: () => {
    const clock = new VirtualClock({ quietTurns: 8 });
    const cloud = new Ec2Endpoint({ clock, pageSize: 5, shutdownMs: 60_000, visibleAfterMs });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () =>
        cloud.instances.flatMap(({ instanceId, state }) =>
          state === 'terminated' || state === 'shutting-down' ? [] : [instanceId ?? ''],
        ),
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  createDriver: ({ clock, random, connect }) =>
    createAwsDriver({ clock, random, connect, environment: { variables: VARIABLES, readFile: async () => undefined } }),
  machineClass: { provider: 'AWS', providerSpec: spec },
  secret: {
    providerAccessKeyId: 'AKIAFAKEREEF00000001',
    providerSecretAccessKey: 'fake/secret+reef-1',
    userData: '#cloud-config of the conformance test',
  },
  dialect: {
    writes: 'Action=(RunInstances|TerminateInstances|ModifyNetworkInterfaceAttribute|AssignIpv6Addresses)&',
    throttled: refusal(503, 'RequestLimitExceeded'),
    exhausted: refusal(500, 'InsufficientInstanceCapacity'),
    quota: refusal(400, 'VcpuLimitExceeded'),
    unauthorized: refusal(401, 'AuthFailure'),
  },
  otherCluster: { ...spec, tags: tags('theirs') },
  volumes: [
    { source: { awsElasticBlockStore: { volumeID: 'aws://eu-north-1a/vol-1' } }, id: 'vol-1' },
    { source: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-2' } }, id: 'vol-2' },
    { source: { csi: { driver: 'pd.csi.storage.gke.io', volumeHandle: 'x' } }, id: null },
  ],
});

test.each(SCENARIOS.map(({ name }) => name))('the AWS driver conforms: %s', async (name) => {
  const { outcomes } = await runConformance(target(0), { only: name });
  for (const { scenario, state, why } of outcomes) {
    if (state !== 'passed') expect.fail(`${scenario.name}: ${why}`);
  }
  expect(outcomes.length).toBeGreaterThan(0);
});

test.each(['creation', 'crash', 'lost answers of a creation', 'many machines'])(
  'the AWS driver conforms although new VMs show late: %s',
  async (only) => {
    const { outcomes, failed } = await runConformance(target(4_000), { only });
    expect(outcomes.filter(({ state }) => state === 'failed').map(({ why }) => why)).toEqual([]);
    expect(failed).toBe(0);
  },
);
