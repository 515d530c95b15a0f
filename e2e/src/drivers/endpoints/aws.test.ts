import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AwsCredentials, type AwsProviderSpec, awsSettings, createAwsDriver } from '@mcm/provider-aws';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from '../aws-environment.ts';
import { refused, Stage } from '../rows/stage.ts';
import { abortAfter, broken, reply, silence, Wire } from './wire.ts';

/** The rules of AWS for endpoints, retries, cancellations and errors: `docs/compatibility/rules-drivers.md`. */

let back: () => void;
let folder: string;
beforeAll(async () => {
  back = await inAwsEnvironment();
  folder = mkdtempSync(join(tmpdir(), 'mcm aws '));
});
afterAll(() => {
  back();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, AWS_VARIABLES);
});

const SPEC = {
  ami: 'ami-0abc',
  region: 'eu-west-1',
  machineType: 'm5.large',
  iam: { name: 'nodes-profile' },
  blockDevices: [{ ebs: { volumeType: 'gp3', volumeSize: 50 } }],
  networkInterfaces: [{ subnetID: 'subnet-1', securityGroupIDs: ['sg-1'] }],
  tags: { 'kubernetes.io/cluster/shoot--x': '1', 'kubernetes.io/role/node': '1' },
};
const SECRET = { providerAccessKeyId: 'AKIA', providerSecretAccessKey: 's', userData: '#cloud-config\n' };
const WORKLOAD = { workloadIdentityTokenFile: '/token', roleARN: 'arn:aws:iam::111122223333:role/r', userData: 'x' };

/** The content of the workload's token file, which tests replace. */
let workloadToken: string | undefined;
beforeEach(() => {
  workloadToken = 'token-of-the-workload';
});
const readFile = async (path: string): Promise<string | undefined> => {
  if (path === WORKLOAD.workloadIdentityTokenFile) return workloadToken;
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

/** @param variables The variables of the process, which the SDK reads. */
function open(
  variables: Readonly<Record<string, string | undefined>> = {},
  flags?: NonNullable<Parameters<typeof awsSettings>[1]>,
) {
  const clock = new VirtualClock({ quietTurns: 30 });
  const cloud = new Ec2Endpoint({ clock });
  const wire = new Wire(clock, cloud.transport);
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const driver = createAwsDriver({
    clock,
    random: seededRandom(1),
    connect: wire.connect,
    environment: { variables: process.env, readFile },
    ...(flags ? awsSettings(process.env, flags) : {}),
  });
  const stage = new Stage<AwsProviderSpec, AwsCredentials>(clock, driver, {
    provider: 'AWS',
    spec: SPEC,
    secret: SECRET,
  });
  const times = (action: string): readonly number[] =>
    wire.sent.filter(({ body = '' }) => body.includes(`Action=${action}&`)).map(({ at }) => at);
  return { clock, wire, stage, times };
}

const error = (status: number, code: string, headers: Readonly<Record<string, string>> = {}) =>
  reply(
    status,
    `<Response><Errors><Error><Code>${code}</Code><Message>ordered</Message></Error></Errors><RequestID>r-1</RequestID></Response>`,
    headers,
  );
/** Returns a transport that gives an error response to the first requests with a certain action. */
const failing =
  (action: string, answer: () => ReturnType<typeof error> | Promise<never>, most = Number.POSITIVE_INFINITY) =>
  ({ body = '' }: { readonly body?: string | undefined }) =>
    body.includes(`Action=${action}&`) && most-- > 0 ? answer() : undefined;

const NONE = { AWS_ENDPOINT_URL: undefined };

describe('workload identity', () => {
  let made = 0;
  /** Returns an STS with the keys `ASIA1`, `ASIA2`, and so on. */
  const sts = (livesMs: number) =>
    failing('AssumeRoleWithWebIdentity', () =>
      reply(
        200,
        `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA${++made}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${new Date(Date.now() + livesMs).toISOString()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      ),
    );
  const keysOf = ({ sent }: Wire): readonly string[] =>
    sent.flatMap(({ headers }) => /Credential=(ASIA\d+)\//.exec(headers.authorization ?? '')?.[1] ?? []);
  const exchanged = ({ sent }: Wire): readonly string[] =>
    sent.flatMap(({ body = '' }) => new URLSearchParams(body).get('WebIdentityToken') ?? []);
  beforeEach(() => {
    made = 0;
  });

  test('keys are used until shortly before they expire; then the current token in the file is exchanged [E1-42]', async () => {
    const { wire, stage } = open();
    wire.script = sts(3_600_000);
    await Promise.all([stage.list({ secret: WORKLOAD }), stage.status({ secret: WORKLOAD }).catch(() => undefined)]);
    workloadToken = 'rotated';
    await stage.list({ secret: WORKLOAD });
    expect([exchanged(wire), new Set(keysOf(wire))]).toEqual([['token-of-the-workload'], new Set(['ASIA1'])]);
    const other = open();
    other.wire.script = sts(60_000);
    await other.stage.list({ secret: WORKLOAD });
    workloadToken = 'rotated again';
    await other.stage.list({ secret: WORKLOAD });
    expect(new Set(exchanged(other.wire))).toEqual(new Set(['rotated', 'rotated again']));
    expect(new Set(keysOf(other.wire)).size).toBe(2);
  });

  test.each(['ExpiredToken', 'InvalidClientTokenId', 'AuthFailure'])(
    'keys that EC2 refuses are refreshed with the next call: %s [E1-43]',
    async (code) => {
      const { wire, stage } = open();
      const given = sts(3_600_000);
      const refusal = failing('DescribeInstances', () => error(400, code), 1);
      wire.script = (request) => given(request) ?? refusal(request);
      await refused(stage.list({ secret: WORKLOAD }), 'Internal', code);
      await stage.list({ secret: WORKLOAD });
      await stage.list({ secret: WORKLOAD });
      expect(keysOf(wire)).toEqual(['ASIA1', 'ASIA2', 'ASIA2']);
    },
  );

  test('a missing token file and a role that STS refuses are reported with their cause; the next call retries [E1-44]', async () => {
    const { wire, stage } = open();
    wire.script = failing('AssumeRoleWithWebIdentity', () => error(403, 'AccessDenied'), 1);
    await refused(stage.list({ secret: WORKLOAD }), 'Internal', 'AssumeRoleWithWebIdentity', 'AccessDenied');
    workloadToken = undefined;
    await refused(stage.list({ secret: WORKLOAD }), 'Internal', 'token file /token of workloadIdentityTokenFile');
    workloadToken = 'there again';
    await stage.list({ secret: WORKLOAD });
    expect(wire.sent.at(-1)?.body).toContain('Action=DescribeInstances');
  });
});

describe('endpoints', () => {
  test('AWS_ENDPOINT_URL_EC2 takes precedence over AWS_ENDPOINT_URL [E1-01]', async () => {
    const { wire, stage } = open({
      AWS_ENDPOINT_URL: 'https://all.example',
      AWS_ENDPOINT_URL_EC2: 'https://ec2.example',
    });
    await stage.list();
    expect(wire.origins).toEqual(['https://ec2.example']);
    const other = open({ AWS_ENDPOINT_URL: 'https://all.example', AWS_ENDPOINT_URL_EC2: undefined });
    await other.stage.list();
    expect(other.wire.origins).toEqual(['https://all.example']);
  });

  test('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS disables the endpoint variables [E1-03]', async () => {
    const { wire, stage } = open({ AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' });
    await stage.list();
    expect(wire.origins).toEqual(['https://ec2.eu-west-1.amazonaws.com']);
  });

  test.each([
    ['eu-west-1', {}, 'https://ec2.eu-west-1.amazonaws.com'],
    ['cn-north-1', {}, 'https://ec2.cn-north-1.amazonaws.com.cn'],
    ['us-gov-west-1', {}, 'https://ec2.us-gov-west-1.amazonaws.com'],
    ['us-east-1', { AWS_USE_FIPS_ENDPOINT: 'true' }, 'https://ec2-fips.us-east-1.amazonaws.com'],
    ['eu-west-1', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }, 'https://ec2.eu-west-1.api.aws'],
  ])('without an endpoint, the region determines the host: %s %o [E1-04]', async (region, variables, origin) => {
    const { wire, stage } = open({ ...NONE, ...variables });
    await stage.list({ spec: { ...SPEC, region } });
    expect(wire.origins).toEqual([origin]);
  });

  test('plain http is only allowed for loopback addresses by default [E1-05]', async () => {
    const far = { AWS_ENDPOINT_URL: 'http://ec2.example' };
    const { wire, stage } = open(far);
    await refused(stage.list(), 'Internal', 'plain http', 'MCM_ALLOW_PLAIN_HTTP=true');
    expect(wire.sent).toEqual([]);
    process.env.MCM_ALLOW_PLAIN_HTTP = 'true';
    try {
      const reported = open(far);
      await reported.stage.list();
      expect(reported.wire.origins).toEqual(['http://ec2.example']);
    } finally {
      delete process.env.MCM_ALLOW_PLAIN_HTTP;
    }
  });

  test.each([
    [{ AWS_ENDPOINT_URL_STS: 'https://sts.example' }, 'https://sts.example'],
    [{}, 'http://127.0.0.1:5000'],
    [NONE, 'https://sts.eu-west-1.amazonaws.com'],
  ])('workload identity sends requests to the STS endpoint in %o [E1-06]', async (variables, origin) => {
    const { wire, stage } = open(variables);
    await stage.list({ secret: WORKLOAD });
    const asked = wire.sent.find(({ body = '' }) => body.includes('AssumeRoleWithWebIdentity'));
    expect(asked?.origin).toBe(origin);
    expect(asked?.body).toContain('token-of-the-workload');
  });

  test('a missing region is an error before any call [E1-07]', async () => {
    const { wire, stage } = open();
    const { region: _, ...spec } = SPEC;
    await refused(stage.list({ spec }), 'InvalidArgument', 'providerSpec.region: Required value');
    expect(wire.sent).toEqual([]);
  });

  test.each([
    ['cn-north-1', 'aws-cn', 'amazonaws.com.cn'],
    ['us-gov-west-1', 'aws-us-gov', 'amazonaws.com'],
    ['eusc-de-east-1', 'aws-eusc', 'amazonaws.eu'],
  ])(
    'the hosts of a region belong to its partition, with and without a role: %s [E1-81]',
    async (region, partition, domain) => {
      const { wire, stage } = open(NONE);
      const spec = { ...SPEC, region };
      await stage.list({ spec });
      const roleARN = `arn:${partition}:iam::111122223333:role/r`;
      await stage.list({ spec, secret: { ...WORKLOAD, roleARN } });
      expect(wire.origins).toEqual([`https://ec2.${region}.${domain}`, `https://sts.${region}.${domain}`]);
      const asked = wire.sent.find(({ body = '' }) => body.includes('AssumeRoleWithWebIdentity'));
      expect(new URLSearchParams(asked?.body).get('RoleArn')).toBe(roleARN);
      const [signed = ''] = wire.sent.flatMap(({ headers }) => headers.authorization ?? []);
      expect(signed).toContain(`/${region}/ec2/`);
    },
  );

  test('requests contain the name of this product [E1-08]', async () => {
    const { wire, stage } = open();
    await stage.list();
    expect(wire.sent[0]?.headers['user-agent'] ?? wire.sent[0]?.headers['User-Agent']).toMatch(/mcm\/\d/);
  });

  test('without keys and with the metadata service disabled, no request is sent and the reason is reported [E1-09]', async () => {
    const { wire, stage } = open();
    await refused(stage.list({ secret: { ...SECRET, providerAccessKeyId: ' ' } }), 'Internal', 'credentials');
    expect(wire.sent).toEqual([]);
  });
});

describe('shared configuration', () => {
  const written = (name: string, ...lines: readonly string[]): string => {
    const file = join(folder, name);
    writeFileSync(file, lines.join('\n'));
    return file;
  };
  const SERVICES = ['[services ours]', 'ec2 =', '  endpoint_url = https://ec2.shared.example'];

  test('the endpoint_url of the shared configuration is used [E1-02]', async () => {
    const file = written('config', '[default]', 'endpoint_url = https://shared.example');
    const { wire, stage } = open({ ...NONE, AWS_CONFIG_FILE: file });
    await stage.list();
    expect(wire.origins).toEqual(['https://shared.example']);
  });

  test('its services section takes precedence over its endpoint_url, but not over the environment; a missing section is reported [E1-34]', async () => {
    const file = written(
      'services',
      ...['[default]', 'services = ours', 'endpoint_url = https://shared.example', ...SERVICES],
    );
    const { wire, stage } = open({ ...NONE, AWS_CONFIG_FILE: file });
    await stage.list({ secret: WORKLOAD });
    expect(wire.origins).toEqual(['https://shared.example', 'https://ec2.shared.example']);
    const set = open({ AWS_ENDPOINT_URL: 'https://variable.example', AWS_CONFIG_FILE: file });
    await set.stage.list();
    expect(set.wire.origins).toEqual(['https://variable.example']);
    const absent = written('absent', '[default]', 'services = theirs', ...SERVICES);
    const other = open({ ...NONE, AWS_CONFIG_FILE: absent });
    await refused(
      other.stage.list(),
      'Internal',
      'needs a section [services theirs]',
      'add the section or remove services',
    );
    expect(other.wire.sent).toEqual([]);
  });

  test('--ignore-configured-endpoints disables it as well, but not the endpoint of a flag [E1-35]', async () => {
    const file = written('ignored', '[default]', 'endpoint_url = https://shared.example');
    const variables = { AWS_ENDPOINT_URL: 'https://variable.example', AWS_CONFIG_FILE: file };
    const { wire, stage } = open(variables, { 'ignore-configured-endpoints': true });
    await stage.list();
    expect(wire.origins).toEqual(['https://ec2.eu-west-1.amazonaws.com']);
    const flagged = open(variables, { 'ignore-configured-endpoints': true, 'ec2-endpoint': 'https://flag.example' });
    await flagged.stage.list();
    expect(flagged.wire.origins).toEqual(['https://flag.example']);
  });
});

describe('flags', () => {
  test('flags take precedence over the environment, for EC2 and STS separately [E1-36]', async () => {
    const variables = { AWS_ENDPOINT_URL: 'https://all.example', AWS_ENDPOINT_URL_STS: 'https://sts.example' };
    const both = open(variables, {
      'ec2-endpoint': 'https://ec2.flag.example',
      'sts-endpoint': 'https://sts.flag.example',
    });
    await both.stage.list({ secret: WORKLOAD });
    expect(both.wire.origins).toEqual(['https://sts.flag.example', 'https://ec2.flag.example']);
    const one = open(variables, { 'ec2-endpoint': 'https://ec2.flag.example' });
    await one.stage.list({ secret: WORKLOAD });
    expect(one.wire.origins).toEqual(['https://sts.example', 'https://ec2.flag.example']);
  });

  test.each([
    [{ 'use-fips-endpoint': true }, 'https://ec2-fips.us-east-1.amazonaws.com'],
    [{ 'use-dualstack-endpoint': true }, 'https://ec2.us-east-1.api.aws'],
    [{ 'use-fips-endpoint': false }, 'https://ec2.us-east-1.amazonaws.com'],
  ])('a variable or a flag sets the kind of the region’s endpoint: %o [E1-37]', async (flags, origin) => {
    const { wire, stage } = open({ ...NONE, AWS_USE_FIPS_ENDPOINT: 'use-fips-endpoint' in flags ? 'true' : '' }, flags);
    await stage.list({ spec: { ...SPEC, region: 'us-east-1' } });
    expect(wire.origins).toEqual([origin]);
  });

  test('--allow-plain-http takes precedence over its variable [E1-38]', async () => {
    const far = { 'ec2-endpoint': 'http://ec2.example' };
    const { wire, stage } = open({}, { ...far, 'allow-plain-http': true });
    await stage.list();
    expect(wire.origins).toEqual(['http://ec2.example']);
    process.env.MCM_ALLOW_PLAIN_HTTP = 'true';
    try {
      expect(() => open({}, { ...far, 'allow-plain-http': false })).toThrow(
        '--ec2-endpoint is http://ec2.example, and plain',
      );
    } finally {
      delete process.env.MCM_ALLOW_PLAIN_HTTP;
    }
  });
});

describe('repetitions', () => {
  test('a launch without capacity is sent once, although EC2 answers with 500 [E2-01]', async () => {
    const { wire, stage, times } = open();
    wire.script = failing('RunInstances', () => error(500, 'InsufficientInstanceCapacity'));
    await refused(stage.create(), 'ResourceExhausted', 'InsufficientInstanceCapacity');
    expect(times('RunInstances')).toHaveLength(1);
  });

  test.each(['500', '503', 'ECONNRESET'])('reads are sent at most three times: %s [E2-02]', async (what) => {
    const { wire, stage, times } = open();
    const answer = () => (what === 'ECONNRESET' ? broken(what) : error(Number(what), 'InternalError'));
    wire.script = failing('DescribeInstances', answer, 2);
    await stage.list();
    const pauses = times('DescribeInstances').map((at, i, all) => at - (all[i - 1] ?? at));
    expect(pauses).toHaveLength(3);
    expect(Math.max(...pauses)).toBeLessThan(5_000);
    wire.script = failing('DescribeInstances', answer);
    await refused(stage.list(), 'Internal');
    expect(times('DescribeInstances')).toHaveLength(6);
  });

  test('AWS_MAX_ATTEMPTS limits the attempts, also if EC2 throttles [E2-03]', async () => {
    const { wire, stage, times } = open({ AWS_MAX_ATTEMPTS: '1' });
    wire.script = failing('DescribeInstances', () => error(503, 'RequestLimitExceeded'));
    await refused(stage.list(), 'Unavailable', 'RequestLimitExceeded');
    expect(times('DescribeInstances')).toHaveLength(1);
  });

  test.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'x-amz-retry-after': '4000' }, 4_000],
  ])('the driver respects the delay that EC2 requests: %o [E2-04]', async (headers, ms) => {
    const { wire, stage, times } = open();
    wire.script = failing('DescribeInstances', () => error(503, 'RequestLimitExceeded', headers), 1);
    await stage.list();
    const [first = 0, second = 0] = times('DescribeInstances');
    expect(second - first).toBeGreaterThanOrEqual(ms);
    expect(second - first).toBeLessThan(ms + 3_000);
  });

  test('the client token of a launch is the same for each attempt, and differs from those of other machines [E2-05]', async () => {
    const { wire, stage } = open();
    wire.script = failing('RunInstances', () => error(500, 'InternalError'), 1);
    await stage.create();
    await stage.create({ name: 'm-2' });
    const tokens = wire.sent.flatMap(({ body = '' }) => new URLSearchParams(body).get('ClientToken') ?? []);
    expect(tokens).toHaveLength(3);
    expect(tokens[0]).toBe(tokens[1]);
    expect(new Set(tokens).size).toBe(2);
  });
});

describe('cancellations and errors', () => {
  test('a call ends with its signal at once, also between two attempts [E3-01]', async () => {
    const { wire, stage, clock } = open();
    wire.script = failing('DescribeInstances', () => error(503, 'RequestLimitExceeded', { 'retry-after': '100' }));
    const start = clock.monotonic();
    await refused(stage.list({ signal: abortAfter(clock, 2_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(2_100);
  });

  test('a call ends with its signal at once while STS returns no keys, and the driver stops waiting after 30 s [E3-07]', async () => {
    const { wire, stage, clock, times } = open();
    const { script } = wire;
    wire.script = (request) => (request.body?.includes('AssumeRoleWithWebIdentity') ? silence(request) : undefined);
    const start = clock.monotonic();
    await refused(stage.list({ secret: WORKLOAD, signal: abortAfter(clock, 2_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(2_100);
    await refused(
      stage.list({ secret: WORKLOAD }),
      'Internal',
      'AssumeRoleWithWebIdentity: no response from AWS within 30 s',
    );
    expect(clock.monotonic() - start).toBeLessThan(31_000);
    wire.script = script;
    await stage.list({ secret: WORKLOAD });
    expect([times('AssumeRoleWithWebIdentity').length, times('DescribeInstances').length]).toEqual([2, 1]);
  });

  test.each([
    [error(400, 'InvalidParameterValue'), 'InvalidParameterValue'],
    [reply(503, 'a proxy’s page'), 'UnknownError'],
  ])('an error has the code of the cloud: %o [E4-01]', async (answer, code) => {
    const { wire, stage } = open({ AWS_MAX_ATTEMPTS: '1' });
    wire.script = failing('RunInstances', () => answer);
    await refused(stage.create(), 'Internal', code);
  });

  test('a broken connection is reported with the code of Node.js and the request [E4-02]', async () => {
    const { wire, stage } = open({ AWS_MAX_ATTEMPTS: '1' });
    wire.script = failing('DescribeInstances', () => broken('ECONNREFUSED'));
    await refused(stage.list(), 'Internal', 'DescribeInstances', 'ECONNREFUSED', 'http://127.0.0.1:5000');
  });

  test.each(['RequestLimitExceeded', 'Throttling', 'RequestThrottled'])(
    '%s is throttling: the request had no effect and is sent again soon [E4-03]',
    async (code) => {
      const { wire, stage, times } = open();
      wire.script = failing('RunInstances', () => error(503, code), 4);
      await stage.create();
      expect(times('RunInstances')).toHaveLength(5);
    },
  );

  test('a request with IDs contains no page size, because EC2 would refuse it [E5-01]', async () => {
    const { wire, stage } = open();
    const { providerId } = await stage.create();
    await stage.status({ providerID: providerId });
    await stage.list();
    for (const { body = '' } of wire.sent) {
      const form = new URLSearchParams(body);
      if ([...form.keys()].some((key) => key.startsWith('InstanceId.'))) expect(form.has('MaxResults')).toBe(false);
    }
  });
});
