import { z } from 'zod';
import type { GcpCredentials } from './schemas.ts';

/** A key of a service account: its owner signs for himself. */
export interface ServiceAccount {
  readonly type: 'service_account';
  readonly project: string;
  readonly email: string;
  readonly privateKey: string;
  readonly privateKeyId: string;
  readonly tokenUri: string;
}

/** A workload's own token, which is exchanged for one of Google's. */
export interface ExternalAccount {
  readonly type: 'external_account';
  readonly project: string;
  readonly audience: string;
  readonly impersonationUrl: string;
}

/** Who the driver is to Google: a service account with a key, or an external identity. */
export type Account = ServiceAccount | ExternalAccount;

export const STS_URL = 'https://sts.googleapis.com/v1/token';
export const TOKEN_FILE = '/var/run/secrets/gardener.cloud/workload-identity/token';
export const SUBJECT_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const IMPERSONATION =
  '^https://iamcredentials\\.googleapis\\.com/v1/projects/-/serviceAccounts/.+:generateAccessToken$';
const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token';

/** All that a service account's key may hold: anything else could point the driver at somebody else's server. */
const SERVICE_ACCOUNT_FIELDS = [
  'auth_provider_x509_cert_url',
  'auth_uri',
  'client_email',
  'client_id',
  'client_x509_cert_url',
  'private_key',
  'private_key_id',
  'project_id',
  'token_uri',
  'type',
  'universe_domain',
];

const head = z.looseObject({ type: z.string().nullish(), project_id: z.string().nullish() });
const texts = z.record(z.string(), z.string());
const external = z.looseObject({
  audience: z.string().nullish(),
  token_url: z.string().nullish(),
  subject_token_type: z.string().nullish(),
  service_account_impersonation_url: z.string().nullish(),
  credential_source: z.looseObject({ file: z.string().nullish() }).nullish(),
});

/** Who the driver is at Google. @throws Error in the original's words */
export function readAccount(secret: GcpCredentials): Account {
  const field = (['serviceAccountJSON', 'serviceaccount.json', 'credentialsConfig'] as const).find(
    (name) => secret[name] !== undefined,
  );
  const json = readJson((field && secret[field]) ?? '', `could not get service account from "${field}" field`);
  const { type, project_id: named } = parse(
    head,
    json ?? {},
    `could not get service account from "${field}" field: failed to unmarshal json object`,
  );
  if (type === 'service_account') return serviceAccount(json, named ?? '', field ?? '');
  if (type === 'external_account') return externalAccount(json, named || secret.projectID || '');
  throw new Error(
    `forbidden credential type "${type ?? ''}" used. Only "service_account" or "external_account" is allowed`,
  );
}

function readJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text.trim());
  } catch {
    // The parser's words quote the text, which is a secret.
    throw new Error(`${where}: failed to unmarshal json object: it is no JSON`);
  }
}

function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(
    `${where}: ${parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')}`,
  );
}

function serviceAccount(json: unknown, project: string, field: string): ServiceAccount {
  if (!project) throw new Error(`could not get service account from "${field}" field: no project id specified`);
  const fields = parse(texts, json, `failed to unmarshal '"${field}"' field`);
  if (Object.keys(fields).some((name) => !SERVICE_ACCOUNT_FIELDS.includes(name)))
    throw new Error(`forbidden fields are present. Allowed fields are ${SERVICE_ACCOUNT_FIELDS.join(', ')}`);
  const tokenUri = fields.token_uri ?? DEFAULT_TOKEN_URI;
  if (!isGoogles(tokenUri))
    throw new Error(
      `token_uri of "${field}" must be https and of googleapis.com: a signed assertion and what is got for it go there`,
    );
  return {
    type: 'service_account',
    project,
    email: fields.client_email ?? '',
    privateKey: fields.private_key ?? '',
    privateKeyId: fields.private_key_id ?? '',
    tokenUri,
  };
}

function isGoogles(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'https:' && /(^|\.)googleapis\.com$/.test(url.hostname);
}

function externalAccount(json: unknown, project: string): ExternalAccount {
  const fields = parse(external, json, 'invalid credentials config');
  const must = (holds: boolean, field: string, should: string): void => {
    if (!holds) throw new Error(`invalid credentials config: invalid ${field}: should ${should}`);
  };
  const impersonationUrl = fields.service_account_impersonation_url ?? '';
  must(fields.token_url === STS_URL, 'token_url', `equal ${STS_URL}`);
  must(fields.subject_token_type === SUBJECT_TOKEN_TYPE, 'subject_token_type', `equal ${SUBJECT_TOKEN_TYPE}`);
  must(fields.credential_source?.file === TOKEN_FILE, 'credential_source', `equal ${TOKEN_FILE}`);
  must(
    impersonationUrl === '' || new RegExp(IMPERSONATION).test(impersonationUrl),
    'service_account_impersonation_url',
    `match reg expression ${IMPERSONATION}`,
  );
  if (!fields.audience) throw new Error('oauth2/google/externalaccount: Audience must be set');
  return { type: 'external_account', project, audience: fields.audience, impersonationUrl };
}
