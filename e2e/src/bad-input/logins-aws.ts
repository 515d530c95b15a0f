import { EXPIRED_KEY, LATE_KEY } from './clouds.ts';
import { type Case, sample } from './sample.ts';

/** AWS credentials with which each login fails. */

const aws = sample('AWS');
const ownKeys = aws.secret({ providerAccessKeyId: ' ', providerSecretAccessKey: ' ' });
const METADATA = { AWS_EC2_METADATA_DISABLED: 'false' };
const WEB = { userData: '#cloud-config of this test', roleARN: 'arn:aws:iam::111122223333:role/r' };
const onClass = ({ source }: RegExp): RegExp =>
  new RegExp(`^(CredentialsRefused|CloudUnreachable|CloudRefuses): .*${source}`);
type Row = readonly [what: string, files: NonNullable<Case['files']>, event: RegExp, change?: Partial<Case>];
const expired = `e30.${Buffer.from(JSON.stringify({ exp: 1 })).toString('base64url')}.s`;
const WEB_IDENTITY: readonly Row[] = [
  [
    'a workload identity whose issuer AWS does not trust',
    { '/tokens/aws': 'token-of-a-stranger' },
    /InvalidIdentityToken: No OpenIDConnect provider found/,
  ],
  ['a workload identity whose token has expired', { '/tokens/aws': expired }, /ExpiredTokenException: Token expired/],
  [
    'a workload identity whose token file is missing',
    {},
    /the token file .* of workloadIdentityTokenFile cannot be read/,
  ],
  [
    'a workload identity whose proxy answers the request',
    { '/tokens/aws': 'token-of-the-workload' },
    /returned an incomplete or invalid AssumeRoleWithWebIdentityResponse/,
    { spec: aws.spec({ region: 'eu-west-6' }) },
  ],
];
const AGENT = 'AWS_CONTAINER_CREDENTIALS_FULL_URI';
const AGENTS: readonly (readonly [what: string, variables: Readonly<Record<string, string>>, event: RegExp])[] = [
  [
    'a container agent on another host',
    { [AGENT]: 'http://evil.example/' },
    /FULL_URI must be an https URL, or an http URL of this host/,
  ],
  [
    'a container agent whose token file is missing',
    { [AGENT]: 'http://169.254.170.23/v1/credentials', AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/tokens/none' },
    /the token file \/tokens\/none of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read/,
  ],
  [
    'a container agent that refuses the token',
    { [AGENT]: 'http://169.254.170.23/v1/credentials' },
    /cannot get the keys of the container's role with AWS_CONTAINER_CREDENTIALS_FULL_URI: 401/,
  ],
  [
    'a container agent that does not exist',
    { [AGENT]: 'https://unreachable.example/' },
    /CONTAINER_CREDENTIALS_FULL_URI: .*EHOSTUNREACH/,
  ],
  [
    'a container agent whose proxy answers the request',
    { [AGENT]: 'https://page.example/' },
    /CONTAINER_CREDENTIALS_FULL_URI: 200, and a response/,
  ],
];
export const AWS_LOGINS: readonly Case[] = [
  {
    what: 'a controller whose clock is ahead',
    secret: aws.secret({ providerAccessKeyId: LATE_KEY }),
    event: /^CredentialsRefused: .*RequestExpired.*clock of this controller is 20 min ahead of AWS: correct the clock/,
    says: /clock of this controller is 20 min ahead of AWS: correct the clock/,
  },
  {
    what: 'a controller without keys',
    secret: ownKeys,
    event:
      /^CredentialsRefused: .*the Secret and the environment contain no keys; set the keys, or give the controller a role.*data\.providerAccessKeyId/,
    says: /set the keys, or give the controller a role/,
  },
  {
    what: 'a controller with keys that the cloud refuses',
    secret: ownKeys,
    variables: { AWS_ACCESS_KEY_ID: 'AKIASTRANGER', AWS_SECRET_ACCESS_KEY: 'secret-of-the-stranger' },
    event: /^CredentialsRefused: .*AuthFailure.*data\.providerAccessKeyId/,
    says: /AuthFailure/,
    secrets: ['secret-of-the-stranger'],
  },
  {
    what: 'a controller on a host without a role',
    secret: ownKeys,
    variables: METADATA,
    event:
      /^CredentialsRefused: .*cannot get the credentials of the instance from http:\/\/169\.254\.169\.254: 404.*an instance role/,
    says: /use an instance role/,
  },
  {
    what: 'a controller on a host without a metadata service',
    secret: ownKeys,
    variables: { ...METADATA, AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://unreachable.example' },
    event: /^CloudUnreachable: .*cannot get the credentials of the instance.*EHOSTUNREACH.*an instance role/,
    says: /EHOSTUNREACH/,
  },
  {
    what: 'a controller whose proxy answers in place of the metadata service',
    secret: ownKeys,
    variables: { ...METADATA, AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://page.example' },
    event:
      /^CredentialsRefused: .*cannot get the credentials of the instance.*response with status 200 is not a token.*an instance role/,
    says: /response with status 200 is not a token/,
  },
  {
    what: 'a workload identity whose role does not exist',
    secret: { userData: WEB.userData, workloadIdentityTokenFile: '/tokens/aws' },
    event: /^InvalidClass: .*roleARN.*; correct the value in Secret default\/odd$/,
    says: /roleARN/,
  },
  ...WEB_IDENTITY.map(([what, files, event, change = {}]) => ({
    what,
    secret: { ...WEB, workloadIdentityTokenFile: '/tokens/aws' },
    files,
    event: onClass(event),
    says: event,
    ...change,
  })),
  {
    what: 'a workload identity whose role is not trusted',
    secret: { ...WEB, workloadIdentityTokenFile: '/tokens/aws', roleARN: 'arn:aws:iam::111122223333:role/another' },
    files: { '/tokens/aws': 'token-of-the-workload' },
    event:
      /^CredentialsRefused: .*AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity.*data\.roleARN, data\.workloadIdentityTokenFile/,
    says: /AccessDenied/,
  },
  {
    what: 'temporary keys of a controller that have expired',
    secret: ownKeys,
    variables: { AWS_ACCESS_KEY_ID: EXPIRED_KEY, AWS_SECRET_ACCESS_KEY: 'a-secret', AWS_SESSION_TOKEN: 'old-session' },
    event: /^CredentialsRefused: .*RequestExpired: Request has expired.*data\.providerAccessKeyId/,
    says: /RequestExpired/,
    secrets: ['a-secret', 'old-session'],
  },
  {
    what: 'a profile whose role has no source',
    secret: ownKeys,
    variables: { AWS_CONFIG_FILE: '/config' },
    files: { '/config': '[default]\nrole_arn = r' },
    event: /^CredentialsRefused: .*role_arn of profile default has no source: set source_profile/,
    says: /set source_profile/,
  },
  {
    what: 'a profile with keys that the cloud does not know',
    secret: ownKeys,
    variables: { AWS_CONFIG_FILE: '/config' },
    files: { '/config': '[default]\naws_access_key_id = AKIASTRANGER\naws_secret_access_key = secret-of-the-stranger' },
    event: /^CredentialsRefused: .*AuthFailure.*data\.providerAccessKeyId/,
    says: /AuthFailure/,
    secrets: ['secret-of-the-stranger'],
  },
  ...AGENTS.map(([what, variables, event]) => ({
    what,
    secret: ownKeys,
    variables: { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/tokens/agent', ...variables },
    files: { '/tokens/agent': 'token-of-the-container' },
    event: onClass(event),
    says: event,
    secrets: ['token-of-the-container'],
  })),
];
