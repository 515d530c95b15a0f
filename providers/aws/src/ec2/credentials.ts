import { trimSpace } from '@mcm/core/driver';
import type { Clock } from '@mcm/kube';
import { defined } from '@mcm/kube';
import type { AwsCredentials } from '../spec/schemas.ts';
import { NoAnswer, Refusal } from './refusal.ts';

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

/** The error if no source contains keys. The driver then sends no request. */
export class NoKeys extends Error {
  override readonly name = 'NoKeys';
}

export type KeySource =
  | { readonly from: 'secret'; readonly keys: Keys }
  | { readonly from: 'web identity'; readonly tokenFile: string; readonly roleArn: string }
  /** The keys of the controller itself: from the environment, shared files, the container or the instance. */
  | { readonly from: 'environment' };

/**
 * Returns the source of the keys. If the Secret contains several names of a key, the first name applies, even if its
 * value is empty. If the value is blank, the keys come from the environment, as in the original.
 */
export function keySourceOf(secret: AwsCredentials): KeySource {
  const { workloadIdentityTokenFile, roleARN = '' } = secret;
  if (workloadIdentityTokenFile !== undefined)
    return { from: 'web identity', tokenFile: workloadIdentityTokenFile, roleArn: roleARN };
  const accessKeyId = trimSpace(secret.providerAccessKeyId ?? secret.accessKeyID ?? '');
  const secretAccessKey = trimSpace(secret.providerSecretAccessKey ?? secret.secretAccessKey ?? '');
  if (!accessKeyId || !secretAccessKey) return { from: 'environment' };
  return { from: 'secret', keys: { accessKeyId, secretAccessKey } };
}

const LONGEST_LOGIN_MS = 30_000;

/** Limits the time of a request. Callers share a request, and without a limit they could wait forever. */
export async function within<T>(clock: Clock, action: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const why = `no response from AWS within ${LONGEST_LOGIN_MS / 1_000} s`;
  const timer = clock.setTimeout(() => over.abort(new NoAnswer(action, why)), LONGEST_LOGIN_MS);
  try {
    return await ask(over.signal);
  } catch (thrown) {
    // If the signal is aborted, the function throws its reason, because the reason is more specific than the error of
    // the SDK.
    over.signal.throwIfAborted();
    throw thrown;
  } finally {
    timer.cancel();
  }
}

interface StsKeys {
  readonly AccessKeyId?: string | undefined;
  readonly SecretAccessKey?: string | undefined;
  readonly SessionToken?: string | undefined;
  readonly Expiration?: Date | undefined;
}

/**
 * Returns the keys in a response of STS.
 * @throws Refusal for a response without keys
 */
export function keysOf(action: string, given: StsKeys = {}): Keys {
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = given;
  if (!AccessKeyId || !SecretAccessKey)
    throw new Refusal(action, { code: 'UnknownError', message: 'no keys', status: 200 });
  return defined({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken || undefined,
    expiration: Expiration,
  });
}
