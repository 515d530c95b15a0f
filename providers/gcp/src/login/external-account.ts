import { trimSpace } from '@mcm/core/driver';
import { z } from 'zod';
import {
  type AccountRules,
  type ExternalAccount,
  type Impersonation,
  type SubjectSource,
  WrongAccount,
} from './accounts.ts';
import { parse } from './parse.ts';
import { type AllowedSources, allowsPath, allowsUrl, NO_SOURCES } from './sources.ts';
import { PUBLIC_UNIVERSE } from './universe.ts';

const TOKEN_FILE = '/var/run/secrets/gardener.cloud/workload-identity/token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const AWS_REQUEST = 'urn:ietf:params:aws:token-type:aws4_request';
const TOKEN_TYPES: readonly string[] = [JWT, 'urn:ietf:params:oauth:token-type:id_token'];
const HOUR_S = 3_600;
const LONGEST_LIFETIME_S = 12 * HOUR_S;
/** Matches the metadata addresses that AWS libraries use. Credentials must not contain another metadata address. */
const AWS_METADATA = /^http:\/\/(169\.254\.169\.254|\[fd00:ec2::254\])\//;

const text = z.string().nullish();
/** The schema of a text without white space at its ends. */
const bare = z
  .string()
  .transform((value) => trimSpace(value))
  .nullish();
const format = z.looseObject({ type: text, subject_token_field_name: text }).nullish();
const schema = z.looseObject({
  audience: text,
  token_url: bare,
  subject_token_type: bare,
  service_account_impersonation_url: text,
  service_account_impersonation: z.looseObject({ token_lifetime_seconds: z.number().nullish() }).nullish(),
  credential_source: z
    .looseObject({
      file: bare,
      url: text,
      format,
      headers: z.record(z.string(), z.string()).nullish(),
      environment_id: text,
      region_url: text,
      imdsv2_session_token_url: text,
    })
    .nullish(),
});
type Fields = z.infer<typeof schema>;
type Source = NonNullable<Fields['credential_source']>;

/**
 * Reads an account that uses a workload token. The token must come from a source that the operator allows.
 * @throws Error, or WrongAccount, with the texts of the original
 */
export function externalAccount(json: unknown, project: string, { universe, sources }: AccountRules): ExternalAccount {
  const fields = parse(schema, json, 'invalid credentials config');
  const domain = universe ?? PUBLIC_UNIVERSE;
  const sts = `https://sts.${domain}/v1/token`;
  must(fields.token_url === sts, 'token_url', `equal ${sts}`);
  const type = fields.subject_token_type ?? '';
  const isAws = isAwsSource(fields.credential_source);
  const wanted = isAws ? AWS_REQUEST : JWT;
  const types = sources && !isAws ? TOKEN_TYPES : [wanted];
  must(types.includes(type), 'subject_token_type', `equal ${wanted}`);
  const source = readSource(fields.credential_source ?? {}, sources ?? NO_SOURCES);
  const impersonation = readImpersonation(fields.service_account_impersonation_url ?? '', domain);
  if (!fields.audience) throw new Error('oauth2/google/externalaccount: Audience must be set');
  const lifetimeS = fields.service_account_impersonation?.token_lifetime_seconds ?? HOUR_S;
  must(
    lifetimeS >= 600 && lifetimeS <= LONGEST_LIFETIME_S,
    'service_account_impersonation.token_lifetime_seconds',
    `be from 600 to ${LONGEST_LIFETIME_S}`,
  );
  return {
    type: 'external_account',
    project,
    audience: fields.audience,
    stsUrl: sts,
    subjectTokenType: type,
    source,
    impersonation: impersonation && { ...impersonation, lifetimeS },
  };
}

function must(holds: boolean, field: string, should: string): void {
  if (!holds) throw new Error(`invalid credentials config: invalid ${field}: should ${should}`);
}

/**
 * Reads the URL for the impersonation of a service account.
 * @throws Error for a URL that does not belong to Google
 */
export function readImpersonation(url: string, universe: string): Impersonation | undefined {
  const pattern = `^https://iamcredentials\\.${universe.replaceAll('.', '\\.')}/v1/projects/-/serviceAccounts/.+:generateAccessToken$`;
  must(
    url === '' || new RegExp(pattern).test(url),
    'service_account_impersonation_url',
    `match reg expression ${pattern}`,
  );
  return url === '' ? undefined : { url, delegates: [], lifetimeS: HOUR_S };
}

/**
 * Returns true if AWS is the token source. The token file of Gardener takes precedence over all other sources, as in
 * the original.
 */
const isAwsSource = (source: Fields['credential_source']): boolean =>
  source?.file !== TOKEN_FILE && (source?.environment_id?.startsWith('aws') ?? false);

function readSource(source: Source, allowed: AllowedSources): SubjectSource {
  const { file, url } = source;
  if (isAwsSource(source)) return awsSource(source, allowed);
  if (file === TOKEN_FILE) return { from: 'file', path: file, field: undefined };
  if (file) {
    if (!allowsPath(allowed, file)) throw notAllowed(file);
    return { from: 'file', path: file, field: fieldOf(source) };
  }
  if (url) {
    if (!allowsUrl(allowed, url)) throw notAllowed(URL.parse(url)?.origin ?? 'https://HOST');
    return { from: 'url', url, headers: source.headers ?? {}, field: fieldOf(source) };
  }
  throw new WrongAccount(`invalid credentials config: invalid credential_source: should equal ${TOKEN_FILE}`);
}

/**
 * Returns the error for a token source that the operator does not allow.
 * @param entry the entry of --credential-sources that would allow the source
 */
const notAllowed = (entry: string): WrongAccount =>
  new WrongAccount(
    `invalid credentials config: invalid credential_source: should equal ${TOKEN_FILE}`,
    `allow the source with --credential-sources=${entry}`,
  );

/** Returns the property that contains the token. */
function fieldOf({ format: reported }: Source): string | undefined {
  const type = reported?.type ?? 'text';
  must(type === 'text' || type === 'json', 'credential_source.format.type', 'be text or json');
  if (type === 'text') return undefined;
  must(
    Boolean(reported?.subject_token_field_name),
    'credential_source.format.subject_token_field_name',
    'contain the name of the JSON member with the token',
  );
  return reported?.subject_token_field_name ?? undefined;
}

/** Checks the AWS addresses in a Secret. The controller sends requests only to the addresses in its own settings. */
function awsSource(source: Source, allowed: AllowedSources): SubjectSource {
  if (!allowed.aws) throw notAllowed('aws');
  must(source.environment_id === 'aws1', 'credential_source.environment_id', 'equal aws1');
  for (const name of ['url', 'region_url', 'imdsv2_session_token_url'] as const)
    must(!source[name] || AWS_METADATA.test(source[name]), `credential_source.${name}`, 'be of http://169.254.169.254');
  return { from: 'aws' };
}
