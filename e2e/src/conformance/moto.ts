import type { ConformanceTarget } from '@mcm/conformance';
import { undiciTransport } from '@mcm/kube';
import { quickClock } from './network/quick-clock.ts';
import { configOf } from './run-scenarios.ts';

const ask = async (server: string, action: string, service = 'ec2', version = '2016-11-15'): Promise<string> => {
  const transport = undiciTransport({ server });
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
  if (found === undefined) throw new Error(`the output of moto has no line that matches ${pattern}`);
  return found;
};

/**
 * Resolves with the target of the conformance tests: a moto server with its own images, subnets and groups.
 * @param server the origin of the moto server
 */
export async function targetOnMoto(server: string): Promise<Omit<ConformanceTarget, 'createDriver'>> {
  await ask(server, 'CreateInstanceProfile&InstanceProfileName=nodes', 'iam', '2010-05-08');
  const ami = first(await ask(server, 'DescribeImages'), /<imageId>(ami-\w+)</);
  const subnetID = first(await ask(server, 'DescribeSubnets'), /<subnetId>(subnet-\w+)</);
  const group = first(await ask(server, 'DescribeSecurityGroups'), /<groupId>(sg-\w+)</);
  const { machineClass, otherCluster, ...config } = configOf('aws');
  const theirs = {
    ami,
    machineType: 'm5.large',
    networkInterfaces: [{ subnetID, securityGroupIDs: [group] }],
    srcAndDstChecksEnabled: true,
  };
  return {
    name: 'aws on moto',
    openCloud: () => {
      const { clock, watch } = quickClock();
      return { clock, connect: watch(() => undiciTransport({ server })) };
    },
    ...config,
    machineClass: { ...machineClass, providerSpec: { ...machineClass.providerSpec, ...theirs } },
    otherCluster: { ...otherCluster, ...theirs },
    machines: 3,
    listed: 3,
  };
}
