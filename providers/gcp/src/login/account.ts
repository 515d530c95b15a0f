import { trimSpace } from '@mcm/core/driver';
import { z } from 'zod';
import type { GcpCredentials } from '../spec/schemas.ts';
import {
  type Account,
  type AccountRules,
  type HostAccount,
  type ImpersonatedAccount,
  type ServiceAccount,
  WrongAccount,
} from './accounts.ts';
import { externalAccount, readImpersonation } from './external-account.ts';
import { parse } from './parse.ts';
import { PUBLIC_UNIVERSE } from './universe.ts';

/** The allowed properties of a service account key. Another property could redirect the requests of the driver. */
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
/** The schema of an object with texts. As in Go, null counts as an empty text. */
const texts = z.record(
  z.string(),
  text.transform((value) => value ?? ''),
);
const impersonated = z.looseObject({
  service_account_impersonation_url: text,
  delegates: z.array(z.string()).nullish(),
  source_credentials: z.looseObject({}).nullish(),
});

export const accountField = (secret: GcpCredentials) =>
  (['serviceAccountJSON', 'serviceaccount.json', 'credentialsConfig'] as const).find(
    (name) => secret[name] !== undefined,
  );

/**
 * Reads the Google account in a Secret.
 * @throws WrongAccount with the texts of the original
 */
export function readAccount(secret: GcpCredentials, rules: AccountRules = {}): Account {
  try {
    return accountOf(secret, rules);
  } catch (thrown) {
    if (thrown instanceof WrongAccount) throw thrown;
    throw new WrongAccount(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function accountOf(secret: GcpCredentials, rules: AccountRules): Account {
  const { universe } = rules;
  const field = accountField(secret);
  const json = readJson((field && secret[field]) ?? '', `could not get service account from "${field}" field`);
  const {
    type,
    project_id: named,
    universe_domain: own,
  } = parse(head, json ?? {}, `could not get service account from "${field}" field: failed to unmarshal json object`);
  // The domain in the credentials must equal the domain that the operator set, so that credentials are never sent to
  // another cloud.
  if (universe && (own || PUBLIC_UNIVERSE) !== universe)
    throw new Error(
      `universe_domain of "${field}" is ${own || PUBLIC_UNIVERSE}, but GOOGLE_CLOUD_UNIVERSE_DOMAIN of the controller is ${universe}: both must be equal`,
    );
  const at = { json, field: field ?? '', project: named || secret.projectID || '', rules };
  if (type === 'service_account') return serviceAccount(json, named ?? '', field ?? '', universe ?? PUBLIC_UNIVERSE);
  if (type === 'external_account') return externalAccount(json, at.project, rules);
  if (type === 'metadata_server') return hostAccount(at);
  if (type === 'impersonated_service_account') return impersonatedAccount(at);
  throw new Error(
    `forbidden credential type "${type ?? ''}" used. Only "service_account" or "external_account" is allowed`,
  );
}

interface Given {
  readonly json: unknown;
  readonly field: string;
  readonly project: string;
  readonly rules: AccountRules;
}

function mustHaveProject({ project, field }: Given): void {
  if (!project)
    throw new Error(`"${field}" contains no project: add project_id to this JSON, or add projectID to the Secret`);
}

function hostAccount(given: Given): HostAccount {
  if (!given.rules.sources?.metadata)
    throw new WrongAccount(
      'forbidden credential type "metadata_server" used. Only "service_account" or "external_account" is allowed',
      'to allow this credential type, set --credential-sources=metadata',
    );
  mustHaveProject(given);
  const { service_account: email } = parse(z.looseObject({ service_account: text }), given.json, given.field);
  if (email && !/^[\w.@-]+$/.test(email))
    throw new Error(`service_account of "${given.field}" must be an e-mail address`);
  return { type: 'metadata_server', project: given.project, email: email || 'default' };
}

function impersonatedAccount(given: Given): ImpersonatedAccount {
  const { field, project, rules } = given;
  const fields = parse(impersonated, given.json, `"${field}"`);
  mustHaveProject(given);
  const json = fields.source_credentials;
  const { type = '' } = parse(head, json ?? {}, `source_credentials of "${field}"`);
  const universe = rules.universe ?? PUBLIC_UNIVERSE;
  const source =
    type === 'service_account'
      ? serviceAccount({ project_id: project, ...json }, project, `${field}.source_credentials`, universe)
      : type === 'external_account'
        ? externalAccount(json, project, rules)
        : type === 'metadata_server'
          ? hostAccount({ ...given, json })
          : undefined;
  if (!source)
    throw new Error(
      `source_credentials of "${field}" has type "${type}"; the type must be service_account, external_account or metadata_server`,
    );
  const impersonation = readImpersonation(fields.service_account_impersonation_url ?? '', universe);
  if (!impersonation)
    throw new Error(`"${field}" has no service_account_impersonation_url; add the URL of the service account`);
  return {
    type: 'impersonated_service_account',
    project,
    source,
    impersonation: { ...impersonation, delegates: fields.delegates ?? [] },
  };
}

function readJson(text: string, fieldName: string): unknown {
  try {
    return JSON.parse(trimSpace(text));
  } catch {
    // The error omits the message of the JSON parser, because the message would contain the secret.
    throw new Error(`${fieldName}: failed to unmarshal json object: it is not JSON`);
  }
}

function serviceAccount(json: unknown, project: string, field: string, universe: string): ServiceAccount {
  if (!project) throw new Error(`could not get service account from "${field}" field: no project id specified`);
  const fields = parse(texts, json, `failed to unmarshal '"${field}"' field`);
  if (Object.keys(fields).some((name) => !SERVICE_ACCOUNT_FIELDS.includes(name)))
    throw new Error(`forbidden fields are present. Allowed fields are ${SERVICE_ACCOUNT_FIELDS.join(', ')}`);
  const tokenUri = fields.token_uri || `https://oauth2.${universe}/token`;
  if (!isGoogles(tokenUri, universe))
    throw new Error(
      `token_uri of "${field}" must be an https URL of ${universe}, because mcm sends a signed assertion to this URL`,
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
  // A URL with a user or a password is refused. A user or a password in a URL would be sent to the server and would
  // appear in logs.
  const isBare = url?.username === '' && url.password === '';
  return isBare && url.protocol === 'https:' && `.${url.hostname}`.endsWith(`.${universe}`);
}
