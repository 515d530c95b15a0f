import type { Clock } from '@mcm/kube';
import type { AwsCredentials } from '../driver/schemas.ts';
import type { reachOf } from './client.ts';
import { NoAnswer, Refusal } from './refusal.ts';
import type { createRequestHandler } from './request-handler.ts';

/** Keys that requests are signed with. */
export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

/** There are no keys to sign with, and nobody was asked. */
export class NoKeys extends Error {
  override readonly name = 'NoKeys';
}

/** Where a class's keys come from. */
export type KeySource =
  | { readonly from: 'secret'; readonly keys: Keys }
  | { readonly from: 'web identity'; readonly tokenFile: string; readonly roleArn: string }
  /** The SDK's own chain: environment, shared files, instance role. */
  | { readonly from: 'environment' };

/** The first key that is there counts, even when it is empty; blank ones mean the environment, as in the original. */
export function keySourceOf(secret: AwsCredentials): KeySource {
  const { workloadIdentityTokenFile, roleARN = '' } = secret;
  if (workloadIdentityTokenFile !== undefined)
    return { from: 'web identity', tokenFile: workloadIdentityTokenFile, roleArn: roleARN };
  const accessKeyId = (secret.providerAccessKeyId ?? secret.accessKeyID ?? '').trim();
  const secretAccessKey = (secret.providerSecretAccessKey ?? secret.secretAccessKey ?? '').trim();
  if (!accessKeyId || !secretAccessKey) return { from: 'environment' };
  return { from: 'secret', keys: { accessKeyId, secretAccessKey } };
}

/** So long STS may take to answer. */
const LONGEST_LOGIN_MS = 30_000;

export interface WebIdentityOptions {
  readonly region: string;
  readonly tokenFile: string;
  readonly roleArn: string;
  readonly clock: Clock;
  readonly readFile: (path: string) => Promise<string | undefined>;
  readonly requestHandler: ReturnType<typeof createRequestHandler>;
  /** Where STS is, where the operator says so. */
  readonly reach: ReturnType<typeof reachOf>;
}

/** Exchanges the file's token for keys, anew whenever it is called: the SDK keeps them until shortly before their end. */
export function webIdentity(options: WebIdentityOptions): () => Promise<Keys> {
  const { region, tokenFile, roleArn, clock, readFile, requestHandler, reach } = options;
  return async () => {
    const token = await readFile(tokenFile);
    if (token === undefined)
      throw new NoKeys(`the token file ${tokenFile} of workloadIdentityTokenFile cannot be read`);
    const { AssumeRoleWithWebIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
    const client = new STSClient({ region, maxAttempts: 1, requestHandler, ...reach });
    const RoleSessionName = `${clock.now().getTime()}000000`;
    const command = new AssumeRoleWithWebIdentityCommand({
      ...{ RoleArn: roleArn, RoleSessionName, WebIdentityToken: token },
    });
    const answer = await within(clock, (abortSignal) => client.send(command, { abortSignal }));
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = answer.Credentials ?? {};
    if (!AccessKeyId || !SecretAccessKey)
      throw new Refusal('AssumeRoleWithWebIdentity', { code: 'UnknownError', message: 'no keys', status: 200 });
    return {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      ...(SessionToken ? { sessionToken: SessionToken } : {}),
      ...(Expiration ? { expiration: Expiration } : {}),
    };
  };
}

/** Who waits for keys shares one question: without an end of its own, one that is never answered would stop them all for good. */
async function within<T>(clock: Clock, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const why = `no answer within ${LONGEST_LOGIN_MS / 1_000} s`;
  const timer = clock.setTimeout(() => over.abort(new NoAnswer('AssumeRoleWithWebIdentity', why)), LONGEST_LOGIN_MS);
  try {
    return await ask(over.signal);
  } catch (thrown) {
    over.signal.throwIfAborted(); // the SDK says no more than that it was aborted
    throw thrown;
  } finally {
    timer.cancel();
  }
}
