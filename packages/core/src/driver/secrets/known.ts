import { USER_DATA_KEY } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import type { Known } from './evidence-text.ts';
import type { SecretValue } from './secret-value.ts';

/** User data may be binary, so its decoded value consists of bytes. */
const decoded = (key: string, data: string): SecretValue => {
  const bytes = Buffer.from(data, 'base64');
  return key === USER_DATA_KEY ? bytes : bytes.toString('utf8');
};

/**
 * Returns the secret values of all Secrets. Several Secrets can have equal keys, so the values of each Secret stay
 * separate.
 */
export const knownOf = (secrets: readonly Secret[]): Known => ({
  secrets: secrets.map(({ data }) =>
    Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, decoded(key, value)])),
  ),
  tokens: [],
});
