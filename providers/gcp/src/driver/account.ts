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
  /** Where its token is exchanged. */
  readonly stsUrl: string;
  readonly impersonationUrl: string;
}

/** Who the driver is to Google: a service account with a key, or an external identity. */
export type Account = ServiceAccount | ExternalAccount;

/** Domain of the public cloud. */
export const PUBLIC_UNIVERSE = 'googleapis.com';
export const TOKEN_FILE = '/var/run/secrets/gardener.cloud/workload-identity/token';
export const SUBJECT_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const stsUrl = (universe: string): string => `https://sts.${universe}/v1/token`;
const impersonation = (universe: string): string =>
  `^https://iamcredentials\\.${universe.replaceAll('.', '\\.')}/v1/projects/-/serviceAccounts/.+:generateAccessToken$`;

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

const text = z.string().nullish();
const head = z.looseObject({ type: text, project_id: text, universe_domain: text });
const texts = z.record(z.string(), z.string());
const external = z.looseObject({
  audience: z.string().nullish(),
  token_url: z.string().nullish(),
  subject_token_type: z.string().nullish(),
  service_account_impersonation_url: z.string().nullish(),
  credential_source: z.looseObject({ file: z.string().nullish() }).nullish(),
});

/** The key of the Secret that holds the credentials: the first that is there. */
export const accountField = (secret: GcpCredentials) =>
  (['serviceAccountJSON', 'serviceaccount.json', 'credentialsConfig'] as const).find(
    (name) => secret[name] !== undefined,
  );

/** The Secret holds nothing that one could be at Google. */
export class WrongAccount extends Error {
  override readonly name = 'WrongAccount';
}

/**
 * Who the driver is at Google.
 * @param universe Domain of the cloud that the operator has chosen; absent: the public one, whatever the credentials say, as
 * the original
 * @throws WrongAccount in the original's words
 */
export function readAccount(secret: GcpCredentials, universe?: string): Account {
  try {
    return accountOf(secret, universe);
  } catch (thrown) {
    throw new WrongAccount(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function accountOf(secret: GcpCredentials, universe: string | undefined): Account {
  const field = accountField(secret);
  const json = readJson((field && secret[field]) ?? '', `could not get service account from "${field}" field`);
  const {
    type,
    project_id: named,
    universe_domain: own,
  } = parse(head, json ?? {}, `could not get service account from "${field}" field: failed to unmarshal json object`);
  // Both would have to be changed by somebody: credentials of one cloud are not sent to another.
  if (universe && (own || PUBLIC_UNIVERSE) !== universe)
    throw new Error(
      `universe_domain of "${field}" is ${own || PUBLIC_UNIVERSE}, and GOOGLE_CLOUD_UNIVERSE_DOMAIN of the controller is ${universe}: they must be equal`,
    );
  const domain = universe ?? PUBLIC_UNIVERSE;
  if (type === 'service_account') return serviceAccount(json, named ?? '', field ?? '', domain);
  if (type === 'external_account') return externalAccount(json, named || secret.projectID || '', domain);
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

function serviceAccount(json: unknown, project: string, field: string, universe: string): ServiceAccount {
  if (!project) throw new Error(`could not get service account from "${field}" field: no project id specified`);
  const fields = parse(texts, json, `failed to unmarshal '"${field}"' field`);
  if (Object.keys(fields).some((name) => !SERVICE_ACCOUNT_FIELDS.includes(name)))
    throw new Error(`forbidden fields are present. Allowed fields are ${SERVICE_ACCOUNT_FIELDS.join(', ')}`);
  const tokenUri = fields.token_uri ?? `https://oauth2.${universe}/token`;
  if (!isGoogles(tokenUri, universe))
    throw new Error(
      `token_uri of "${field}" must be https and of ${universe}: a signed assertion and what is got for it go there`,
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

function isGoogles(uri: string, universe: string): boolean {
  const url = URL.parse(uri);
  // A user or password in it would be sent, and would stand in logs.
  const isBare = url?.username === '' && url.password === '';
  return isBare && url.protocol === 'https:' && `.${url.hostname}`.endsWith(`.${universe}`);
}

function externalAccount(json: unknown, project: string, universe: string): ExternalAccount {
  const fields = parse(external, json, 'invalid credentials config');
  const must = (holds: boolean, field: string, should: string): void => {
    if (!holds) throw new Error(`invalid credentials config: invalid ${field}: should ${should}`);
  };
  const sts = stsUrl(universe);
  const pattern = impersonation(universe);
  const impersonationUrl = fields.service_account_impersonation_url ?? '';
  must(fields.token_url === sts, 'token_url', `equal ${sts}`);
  must(fields.subject_token_type === SUBJECT_TOKEN_TYPE, 'subject_token_type', `equal ${SUBJECT_TOKEN_TYPE}`);
  must(fields.credential_source?.file === TOKEN_FILE, 'credential_source', `equal ${TOKEN_FILE}`);
  must(
    impersonationUrl === '' || new RegExp(pattern).test(impersonationUrl),
    'service_account_impersonation_url',
    `match reg expression ${pattern}`,
  );
  if (!fields.audience) throw new Error('oauth2/google/externalaccount: Audience must be set');
  return { type: 'external_account', project, audience: fields.audience, stsUrl: sts, impersonationUrl };
}
