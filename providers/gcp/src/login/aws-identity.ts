import { createHash, createHmac } from 'node:crypto';
import { askForText, TokenRefused } from '@mcm/core/driver';
import { tryParseJson, withoutUndefined } from '@mcm/kube';
import { z } from 'zod';

import type { TokenOptions } from './token-options.ts';

const METADATA = 'http://169.254.169.254';
const ROLES = '/latest/meta-data/iam/security-credentials/';

interface Keys {
  readonly id: string;
  readonly secret: string;
  readonly session: string | undefined;
}

const roleKeys = z.looseObject({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  Token: z.string().optional(),
});

/**
 * Returns a signed request to AWS. The keys come from the environment, or else from the role of the host.
 * @param audience the recipient, which is a part of the signature.
 */
export async function signedIdentity(audience: string, options: TokenOptions, signal: AbortSignal): Promise<string> {
  const { awsVariables: variables = {}, clock } = options;
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = variables;
  const given = variables.AWS_REGION || variables.AWS_DEFAULT_REGION;
  const host = new Host(options, signal);
  const region = given || (await host.read('/latest/meta-data/placement/region'));
  const keys = id && secret ? { id, secret, session } : await host.keys();
  const name = `sts.${region}.amazonaws.com`;
  const query = 'Action=GetCallerIdentity&Version=2011-06-15';
  const date = clock
    .now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '');
  const headers = withoutUndefined({
    host: name,
    'x-amz-date': date,
    'x-amz-security-token': keys.session || undefined,
    'x-goog-cloud-target-resource': audience,
  });
  const authorization = sign({ query, headers, date, region }, keys);
  const all = Object.entries({ authorization, ...headers }).map(([key, value]) => ({ key, value }));
  return encodeURIComponent(JSON.stringify({ url: `https://${name}?${query}`, method: 'POST', headers: all }));
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

interface Signed {
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly date: string;
  readonly region: string;
}

/** Signs a POST without a body with Signature Version 4 of AWS. */
function sign({ query, headers, date, region }: Signed, { id, secret }: Keys): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const names = Object.keys(headers).join(';');
  const canonical = ['POST', '/', query, lines.join(''), names, hash('')].join('\n');
  const day = date.slice(0, 8);
  const scope = `${day}/${region}/sts/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n');
  const key = [day, region, 'sts', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const signature = hmac(key, text).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}

/** Reads the metadata service of a host in AWS (IMDSv2). */
class Host {
  readonly #options: TokenOptions;
  readonly #signal: AbortSignal;
  #session: Promise<string> | undefined;

  constructor(options: TokenOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async keys(): Promise<Keys> {
    const role = (await this.read(ROLES)).split('\n')[0]?.trim() ?? '';
    const found = roleKeys.safeParse(tryParseJson(await this.read(`${ROLES}${encodeURIComponent(role)}`)));
    if (!found.success) throw new TokenRefused(this.#failed(`role ${role} has no keys`));
    const { AccessKeyId: id, SecretAccessKey: secret, Token: session } = found.data;
    return { id, secret, session };
  }

  async read(path: string): Promise<string> {
    this.#session ??= this.#ask('PUT', '/latest/api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': '300' });
    return this.#ask('GET', path, { 'x-aws-ec2-metadata-token': await this.#session });
  }

  #ask(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const { clock, connect, awsMetadata = METADATA } = this.#options;
    const say = (cause: string): string => this.#failed(cause);
    const question = { method, url: `${awsMetadata}${path}`, headers, say, signal: this.#signal };
    return askForText({ ...question, connect, now: clock.now() });
  }

  #failed(cause: string): string {
    const { awsMetadata = METADATA } = this.#options;
    return `no identity from the AWS metadata service ${awsMetadata}: ${cause}; run the controller in AWS with a role, or set keys`;
  }
}
