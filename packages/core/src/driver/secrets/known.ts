import { USER_DATA_KEY } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import type { Known } from './evidence-text.ts';
import type { SecretValue } from './secret-value.ts';

/** Decodes user data to bytes, because it may be binary, and all other values to text. */
const decoded = (key: string, data: string): SecretValue => {
  const bytes = Buffer.from(data, 'base64');
  return key === USER_DATA_KEY ? bytes : bytes.toString('utf8');
};

/**
 * Collects the values that no stored text may contain from all Secrets, because several Secrets can have the same
 * keys.
 */
export const knownOf = (secrets: readonly Secret[]): Known => ({
  secrets: secrets.map(({ data }) =>
    Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, decoded(key, value)])),
  ),
  tokens: [],
});
