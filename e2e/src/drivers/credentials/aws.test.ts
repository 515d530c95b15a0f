import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AwsCredentials, type AwsProviderSpec, createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from '../aws-environment.ts';
import { broken, failing, reply, silence, Wire } from '../endpoints/wire.ts';
import { aws } from '../providers.ts';
import { refused, Stage } from '../rows/stage.ts';
import { forbidSockets } from './no-sockets.ts';

/** Every source of the controller's own keys, with the emulated STS, metadata service and container agent. */

forbidSockets();
let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const HOST = {
  role: 'nodes',
  region: 'eu-north-1',
  keys: { accessKeyId: 'ASIAHOST', secretAccessKey: 'secret-of-the-host', sessionToken: 'session-of-the-host' },
};
const [EC2, IMDS] = ['http://127.0.0.1:5000', 'http://169.254.169.254'];
const BLANK = { providerAccessKeyId: ' ', providerSecretAccessKey: ' ', userData: '#cloud-config' };
const PAIR = { AWS_ACCESS_KEY_ID: 'AKIAOWN', AWS_SECRET_ACCESS_KEY: 'secret-of-the-environment' };
const ROLE = 'arn:aws:iam::111122223333:role/r';
const QUOTED = ['/opt/my tools/keys', '--profile', 'a b', 'x'];
const run = async (command: readonly [program: string, ...args: string[]]): Promise<string> => {
  if (command[0] === 'print') return command[1] ?? 'canary';
  if (command[0] === 'fail') throw Object.assign(new Error('canary'), { code: 7 });
  return command.join('|') === 'keys' || command.join('|') === QUOTED.join('|')
    ? JSON.stringify({ Version: 1, AccessKeyId: 'AKIAOWN', SecretAccessKey: 'secret-of-the-environment' })
    : 'canary';
};
const FILE = '/nonexistent/config';

function open(
  variables: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
  switchedOff = 'false',
) {
  const clock = new VirtualClock({ quietTurns: 30 });
  const cloud = new Ec2Endpoint({ clock, host: HOST, keys: { AKIAOWN: 'secret-of-the-environment' } });
  const wire = new Wire(clock, cloud.transport);
  const environment = {
    variables: { ...AWS_VARIABLES, AWS_EC2_METADATA_DISABLED: switchedOff, ...variables },
    readFile: async (path: string) => files[path],
    run,
  };
  const driver = createAwsDriver({
    clock,
    random: seededRandom(1),
    connect: wire.connect,
    environment,
    settings: { ec2Endpoint: EC2, stsEndpoint: EC2 },
  });
  const { providerSpec } = aws().machineClass;
  const stage = new Stage<AwsProviderSpec, AwsCredentials>(clock, driver, {
    provider: 'AWS',
    spec: providerSpec ?? {},
    secret: BLANK,
  });
  const actions = (): readonly string[] =>
    wire.sent.map(({ method, path, body = '' }) => new URLSearchParams(body).get('Action') ?? `${method} ${path}`);
  const signers = (): readonly (string | undefined)[] =>
    wire.sent.map(({ headers }) => /Credential=(\w+)\//.exec(headers.authorization ?? '')?.[1]);
  return { clock, wire, stage, actions, signers };
}

const LIST = 'DescribeInstances';
const METADATA = [
  'PUT /latest/api/token',
  'GET /latest/meta-data/iam/security-credentials/',
  'GET /latest/meta-data/iam/security-credentials/nodes',
];
const AGENT = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' };
const TOKEN_FILE = { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/token' };
const WEB = { AWS_WEB_IDENTITY_TOKEN_FILE: '/token', AWS_ROLE_ARN: ROLE };
const KEYS = 'aws_access_key_id = AKIAOWN\naws_secret_access_key = secret-of-the-environment';

describe('keys of the controller', () => {
  test.each<[what: string, variables: Readonly<Record<string, string>>, config: string, actions: readonly string[]]>([
    ['the environment', PAIR, '', [LIST]],
    ['a profile with keys', {}, `[default]\n${KEYS}`, [LIST]],
    [
      'a named profile, before the environment',
      { ...PAIR, AWS_PROFILE: 'p', AWS_ACCESS_KEY_ID: 'no' },
      `[profile p]\n${KEYS}`,
      [LIST],
    ],
    [
      'a profile with a role of another profile',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = ${ROLE}\nsource_profile = own\nexternal_id = e\n[profile own]\n${KEYS}`,
      ['AssumeRole', LIST],
    ],
    [
      'a profile with a role of the environment',
      { AWS_PROFILE: 'p', ...PAIR },
      `[profile p]\nrole_arn = ${ROLE}\ncredential_source = Environment`,
      ['AssumeRole', LIST],
    ],
    [
      'a profile with a role of the instance',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = ${ROLE}\ncredential_source = Ec2InstanceMetadata`,
      [...METADATA, 'AssumeRole', LIST],
    ],
    [
      'a profile with a role and its own keys',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = ${ROLE}\nsource_profile = p\n${KEYS}`,
      ['AssumeRole', LIST],
    ],
    [
      'a profile with a token file',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = ${ROLE}\nweb_identity_token_file = /token`,
      ['AssumeRoleWithWebIdentity', LIST],
    ],
    ['a program of a profile', { AWS_PROFILE: 'p' }, `[profile p]\ncredential_process = keys`, [LIST]],
    [
      'a program with quoted words',
      { AWS_PROFILE: 'p' },
      `[profile p]\ncredential_process = "/opt/my tools/keys" --profile 'a b' x`,
      [LIST],
    ],
    ['a workload’s token', WEB, '', ['AssumeRoleWithWebIdentity', LIST]],
    ['a container agent', { ...AGENT, ...TOKEN_FILE }, '', ['GET /v1/credentials', LIST]],
    ['the instance', {}, '', [...METADATA, LIST]],
  ])('blank keys in a Secret mean the keys of the controller: %s [E1-75]', async (_what, variables, config, wanted) => {
    const { stage, actions } = open(variables, { [FILE]: config, '/token': 'token-of-the-workload' });
    await stage.list();
    await stage.list();
    expect(actions()).toEqual([...wanted, LIST]);
  });

  test('AWS_EC2_METADATA_SERVICE_ENDPOINT sets the metadata service, which is used if the Secret’s keys are blank [E1-39]', async () => {
    const { wire, stage, signers } = open({ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1338/' });
    await stage.list({
      secret: { ...BLANK, providerAccessKeyId: 'AKIAOWN', providerSecretAccessKey: PAIR.AWS_SECRET_ACCESS_KEY },
    });
    expect(wire.origins).toEqual([EC2]);
    await stage.list();
    expect(wire.origins).toEqual([EC2, 'http://127.0.0.1:1338']);
    expect(signers().filter(Boolean)).toEqual(['AKIAOWN', 'ASIAHOST']);
    const six = open({ AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: 'IPv6' });
    await six.stage.list();
    expect(six.wire.origins).toEqual(['http://[fd00:ec2::254]', EC2]);
  });

  test('the token of a container is read for each login [E1-76]', async () => {
    const files: Record<string, string> = { '/token': 'first' };
    const { wire, stage } = open({ ...AGENT, ...TOKEN_FILE }, files);
    const refusal = failing(
      'POST /',
      () => reply(401, '<Response><Errors><Error><Code>AuthFailure</Code></Error></Errors></Response>'),
      1,
    );
    wire.script = refusal;
    await refused(stage.list(), 'Internal', 'AuthFailure');
    files['/token'] = ' second\n';
    await stage.list();
    const agent = wire.sent.filter(({ origin }) => origin === 'http://169.254.170.23');
    expect(agent.map(({ headers }) => headers.authorization)).toEqual(['first', 'second']);
  });
});

/** Replaces the keys in a source of the controller with keys that EC2 does not know. */
const old = (text: string): string => text.replace('AKIAOWN', 'AKIAOLD');
const ANSWER = JSON.stringify({ Version: 1, AccessKeyId: 'AKIAOWN', SecretAccessKey: PAIR.AWS_SECRET_ACCESS_KEY });

test.each<[what: string, code: string, variables: Readonly<Record<string, string>>, before: string, after: string]>([
  ['temporary keys of a profile', 'RequestExpired', {}, old(`[default]\n${KEYS}`), `[default]\n${KEYS}`],
  ['keys of a profile', 'AuthFailure', {}, old(`[default]\n${KEYS}`), `[default]\n${KEYS}`],
  [
    'a program of a profile',
    'ExpiredToken',
    { AWS_PROFILE: 'p' },
    `[profile p]\ncredential_process = print '${old(ANSWER)}'`,
    `[profile p]\ncredential_process = print '${ANSWER}'`,
  ],
])(
  'keys that EC2 refuses are read again without a restart: %s, %s [E1-80]',
  async (_what, code, variables, before, after) => {
    const files = { [FILE]: before };
    const { wire, stage, signers } = open(variables, files);
    const body = `<Response><Errors><Error><Code>${code}</Code></Error></Errors></Response>`;
    wire.script = failing('POST /', () => reply(400, body), 1);
    await refused(stage.list(), 'Internal', code);
    files[FILE] = after;
    await stage.list();
    expect(signers()).toEqual(['AKIAOLD', 'AKIAOWN']);
  },
);

describe('logins that always fail', () => {
  test.each<[what: string, variables: Readonly<Record<string, string>>, config: string, says: string]>([
    ['none', {}, '', 'no credentials'],
    [
      'a source that does not exist',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = r\nsource_profile = q`,
      'source_profile of profile p is q, but this profile does not exist',
    ],
    ['no source', { AWS_PROFILE: 'p' }, `[profile p]\nrole_arn = r`, 'role_arn of profile p has no source'],
    [
      'a circle',
      { AWS_PROFILE: 'p' },
      `[profile p]\nrole_arn = r\nsource_profile = q\n[profile q]\nrole_arn = s\nsource_profile = p`,
      'profile p is a source_profile but has no credentials',
    ],
    ['a second factor', { AWS_PROFILE: 'p' }, `[profile p]\nrole_arn = r\nmfa_serial = m`, 'mfa_serial of profile p'],
    [
      'a browser',
      { AWS_PROFILE: 'p' },
      `[profile p]\nsso_session = s`,
      'credential_process = aws configure export-credentials',
    ],
    ['no program', { AWS_PROFILE: 'p' }, `[profile p]\ncredential_process = ""`, 'is empty; write a command'],
    ['a program that fails', { AWS_PROFILE: 'p' }, `[profile p]\ncredential_process = fail`, 'exited with 7'],
    ['a program without keys', { AWS_PROFILE: 'p' }, `[profile p]\ncredential_process = print`, 'printed no keys'],
    [
      'an agent elsewhere',
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://evil.example/' },
      '',
      'FULL_URI must be an https URL',
    ],
    ['a container without its token', { ...AGENT, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/none' }, '', '/none'],
    ['a workload without its token', { ...WEB, AWS_WEB_IDENTITY_TOKEN_FILE: '/none' }, '', '/none'],
  ])(
    'a controller without keys reports the reason and sends no request: %s [E1-77]',
    async (_what, variables, config, says) => {
      const { wire, stage } = open(variables, { [FILE]: config }, 'true');
      const text = await refused(stage.list(), 'Internal', says);
      expect(text).not.toContain('canary');
      expect(wire.sent).toEqual([]);
    },
  );

  test.each([
    ['is not there', () => broken('EHOSTUNREACH'), 'Unavailable', 'EHOSTUNREACH'],
    [
      'is a proxy’s page',
      () => reply(200, '<html>Welcome</html>'),
      'Internal',
      'the response with status 200 is not a token',
    ],
    ['is not AWS’s', () => reply(404, '<html>Not Found</html>'), 'Internal', '404'],
  ] as const)('a metadata service that %s is reported with a hint [E1-78]', async (_what, answer, code, says) => {
    const { wire, stage } = open();
    wire.script = failing('latest', answer);
    await refused(
      stage.list(),
      code,
      says,
      `cannot get the credentials of the instance from ${IMDS}`,
      'use an instance role',
    );
    expect(wire.sent).toHaveLength(1);
  });

  test('the driver stops waiting for a metadata service without an answer after 30 s [E1-79]', async () => {
    const { wire, stage, clock } = open();
    wire.script = (request) => (request.path.startsWith('/latest') ? silence(request) : undefined);
    const start = clock.monotonic();
    await refused(stage.list(), 'Internal', 'credentials: no response from AWS within 30 s');
    expect(clock.monotonic() - start).toBeLessThan(31_000);
  });
});
