import type { Machine } from '@mcm/api';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type Ec2, ec2Clients, type Instance } from '../ec2/client.ts';
import { Refusal } from '../ec2/refusal.ts';
import { reportEvidence } from './evidence.ts';
import type { OnMachine } from './lookup.ts';

const request = (providerID?: string): OnMachine =>
  ({
    machine: { metadata: { name: 'm-0' }, spec: providerID ? { providerID } : {} } as Machine,
    signal: new AbortController().signal,
  }) as OnMachine;

interface Cloud {
  readonly instances?: readonly Instance[];
  readonly console?: (latest: boolean) => string;
}

const asked: string[] = [];
const ec2 = ({ instances = [], console: read = () => '' }: Cloud): Ec2 =>
  partial<Ec2>({
    instances: async () => {
      if (instances.length > 0) return instances;
      throw new Refusal('DescribeInstances', { code: 'InvalidInstanceID.NotFound', message: 'no', status: 400 });
    },
    console: async (id: string, latest: boolean) => {
      asked.push(`${id} ${latest}`);
      return read(latest);
    },
  });

const timed = <T>(_service: string, work: () => Promise<T>): Promise<T> => work();
const ID = 'aws:///eu-west-1/i-0abc';
const running: Instance = {
  InstanceId: 'i-0abc',
  State: { Name: 'running' },
  LaunchTime: new Date('2026-01-01T00:00:00Z'),
  Placement: { AvailabilityZone: 'eu-west-1a' },
};
const STATE = 'instance i-0abc of zone eu-west-1a, launched at 2026-01-01T00:00:00.000Z, is running';

test('evidence contains the state and the console of a VM', async () => {
  asked.length = 0;
  const cloud = ec2({ instances: [running], console: () => 'booting\npanic\n' });
  expect(await reportEvidence(cloud, request(ID), timed)).toEqual({ state: STATE, console: 'booting\npanic\n' });
  expect(asked).toEqual(['i-0abc true']);
});

test('the incomplete first line of a full console is left out', async () => {
  const text = `cret\n${'x'.repeat(65_530)}\n`;
  const reported = await reportEvidence(ec2({ instances: [running], console: () => text }), request(ID), timed);
  expect(reported.console).toBe(`${'x'.repeat(65_530)}\n`);
});

test('an instance type without the latest console returns its stored output', async () => {
  asked.length = 0;
  const read = (latest: boolean): string => {
    if (latest)
      throw new Refusal('GetConsoleOutput', { code: 'UnsupportedOperation', message: 'not on this type', status: 400 });
    return 'old\n';
  };
  const reported = await reportEvidence(ec2({ instances: [running], console: read }), request(ID), timed);
  expect(reported.console).toBe('old\n');
  expect(asked).toEqual(['i-0abc true', 'i-0abc false']);
});

test('if EC2 refuses the console, the evidence contains the state and the reason', async () => {
  const read = (): never => {
    throw new Refusal('GetConsoleOutput', { code: 'UnauthorizedOperation', message: 'you may not', status: 403 });
  };
  const { state, console } = await reportEvidence(ec2({ instances: [running], console: read }), request(ID), timed);
  expect(console).toBeUndefined();
  expect(state).toMatch(/ is running; mcm could not read its console output: .*you may not/);
});

test.each<[what: string, cloud: Cloud, id: string | undefined, state: string]>([
  ['no VM', {}, undefined, 'the machine has no VM'],
  ['a VM that EC2 has forgotten', {}, ID, 'instance i-0abc does not exist'],
  [
    'one that was ended',
    {
      instances: [
        { ...running, State: { Name: 'terminated' }, StateReason: { Message: 'Server.SpotInstanceTermination' } },
      ],
    },
    ID,
    'instance i-0abc of zone eu-west-1a, launched at 2026-01-01T00:00:00.000Z, is terminated (Server.SpotInstanceTermination)',
  ],
])('%s', async (_what, cloud, id, state) => {
  expect((await reportEvidence(ec2(cloud), request(id), timed)).state).toBe(state);
});

test('the console is decoded from base64', async () => {
  const bodies: string[] = [];
  const clients = ec2Clients({
    clock: new VirtualClock(),
    random: seededRandom(1),
    environment: { variables: {}, readFile: async () => undefined },
    isFinal: () => false,
    userAgent: 'test',
    allowPlainHttp: false,
    connect:
      () =>
      async ({ body = '' }) => {
        bodies.push(body);
        const output = Buffer.from('booting\n').toString('base64');
        const xml = `<GetConsoleOutputResponse><instanceId>i-0abc</instanceId><output>${output}</output></GetConsoleOutputResponse>`;
        return new Response(xml, { status: 200 });
      },
  });
  const client = await clients('eu-west-1', { accessKeyID: 'key', secretAccessKey: 'secret' } as never);
  expect(await client.console('i-0abc', true, new AbortController().signal)).toBe('booting\n');
  expect(bodies[0]).toMatch(/Action=GetConsoleOutput&.*InstanceId=i-0abc/);
  expect(bodies[0]).toContain('Latest=true');
});
