import { type ConformanceTarget, runConformance, SCENARIOS } from '@mcm/conformance';
import { undiciTransport } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { expect, test } from 'vitest';
import { inAwsEnvironment } from '../drivers/aws-environment.ts';
import { quickClock } from './network/quick-clock.ts';

/**
 * The AWS driver against somebody else's EC2: a running moto server, `MCM_MOTO_URL=http://127.0.0.1:5000`; skipped
 * without one. Left out is what moto does otherwise than EC2, see `providers/aws/README.md`, and what only a clock moved by
 * hand can play.
 */
const url = process.env.MCM_MOTO_URL;
/** moto knows no client token: a launch that is repeated is a second VM. */
const NO_CLIENT_TOKEN = [
  'repeated creation finds the same VM',
  'a crash between any two requests of a creation',
  'lost answers of a creation',
];
/** moto refuses to terminate an instance a second time: its network interface is not there any more. */
const ONE_TERMINATION = ['deletion of what is gone', 'lost answers of a deletion'];
/** Of several filters of one name moto takes the last: the listing asks for `tag-key` of the cluster and of the role. */
const ONE_FILTER = ["listing leaves out other clusters' VMs"];
const SCENARIOS_ON_MOTO = SCENARIOS.map(({ name }) => name).filter(
  (name) => ![...NO_CLIENT_TOKEN, ...ONE_TERMINATION, ...ONE_FILTER].includes(name),
);
const LIMIT = { timeout: 600_000 };

const ask = async (action: string, service = 'ec2', version = '2016-11-15'): Promise<string> => {
  const transport = undiciTransport({ server: url ?? '' });
  const authorization = `AWS4-HMAC-SHA256 Credential=AK/20260101/eu-north-1/${service}/aws4_request, SignedHeaders=host, Signature=x`;
  const answer = await transport({
    method: 'POST',
    path: '/',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: `Action=${action}&Version=${version}`,
  });
  const text = await answer.text();
  await transport.close();
  return text;
};

const first = (text: string, pattern: RegExp): string => {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`moto tells nothing that matches ${pattern}`);
  return found;
};

async function targetOnMoto(): Promise<ConformanceTarget> {
  // One that is there already is refused, which is as good.
  await ask('CreateInstanceProfile&InstanceProfileName=nodes', 'iam', '2010-05-08');
  const ami = first(await ask('DescribeImages'), /<imageId>(ami-\w+)</);
  const subnetID = first(await ask('DescribeSubnets'), /<subnetId>(subnet-\w+)</);
  const group = first(await ask('DescribeSecurityGroups'), /<groupId>(sg-\w+)</);
  const refusal = (status: number, code: string) => ({
    status,
    body: `<Response><Errors><Error><Code>${code}</Code><Message>{message}</Message></Error></Errors></Response>`,
  });
  const specOf = (cluster: string) => ({
    ami,
    region: 'eu-north-1',
    machineType: 'm5.large',
    iam: { name: 'nodes' },
    blockDevices: [{ ebs: { volumeSize: 42, volumeType: 'gp3' } }],
    networkInterfaces: [{ subnetID, securityGroupIDs: [group] }],
    tags: { [`kubernetes.io/cluster/${cluster}`]: '1', 'kubernetes.io/role/node': '1' },
  });
  return {
    name: 'aws on moto',
    openCloud: () => {
      const { clock, watch } = quickClock();
      return { clock, connect: watch(() => undiciTransport({ server: url ?? '' })) };
    },
    createDriver: ({ clock, random, connect }) =>
      createAwsDriver({
        ...{ clock, random, connect },
        environment: { variables: process.env, readFile: async () => undefined },
      }),
    machineClass: { provider: 'AWS', providerSpec: specOf('ours') },
    otherCluster: specOf('theirs'),
    volumes: [
      { source: { awsElasticBlockStore: { volumeID: 'aws://eu-north-1a/vol-1' } }, id: 'vol-1' },
      { source: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-2' } }, id: 'vol-2' },
    ],
    secret: {
      providerAccessKeyId: 'AKIAFAKEREEF00000001',
      providerSecretAccessKey: 'fake/secret+reef-1',
      userData: '#cloud-config of the conformance test',
    },
    dialect: {
      writes: 'Action=(RunInstances|TerminateInstances)&',
      throttled: refusal(503, 'RequestLimitExceeded'),
      exhausted: refusal(500, 'InsufficientInstanceCapacity'),
      quota: refusal(400, 'VcpuLimitExceeded'),
      unauthorized: refusal(401, 'AuthFailure'),
    },
    machines: 3,
    listed: 3,
  };
}

test.skipIf(!url)('the AWS driver conforms on moto', LIMIT, async () => {
  const back = await inAwsEnvironment();
  try {
    const target = await targetOnMoto();
    const all = [];
    for (const only of (process.env.MCM_MOTO_SCENARIOS ?? SCENARIOS_ON_MOTO.join('|')).split('|'))
      all.push(...(await runConformance(target, { only })).outcomes);
    expect(
      all.filter(({ state }) => state === 'failed').map(({ scenario, why }) => `${scenario.name}: ${why}`),
    ).toEqual([]);
    expect(all.some(({ state }) => state === 'passed')).toBe(true);
  } finally {
    back();
  }
});
