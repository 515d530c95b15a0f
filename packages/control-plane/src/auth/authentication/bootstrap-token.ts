import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../apimachinery/objects/clock.ts';
import { AUTHENTICATED, BOOTSTRAPPERS, type UserInfo } from '../../apimachinery/users/user.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';
import type { TokenReader } from './authenticator.ts';

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const SECRETS = '/secrets';
const NAMESPACE = 'kube-system';
const TYPE = 'bootstrap.kubernetes.io/token';

interface KnownToken {
  readonly secret: Buffer;
  /** The expiry of the token, or Infinity if the token never expires. */
  readonly expires: number;
  readonly user: UserInfo;
}

/** Parses the secret of a bootstrap token. */
function readToken(id: string, { json }: StoredRecord): KnownToken | undefined {
  const secret = JSON.parse(json) as {
    metadata: { deletionTimestamp?: string };
    type?: string;
    data?: Record<string, string>;
  };
  const value = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  if (secret.type !== TYPE || secret.metadata.deletionTimestamp !== undefined || value('token-id') !== id)
    return undefined;
  if (value('usage-bootstrap-authentication') !== 'true') return undefined;
  const expiration = value('expiration');
  const expires = expiration === '' ? Number.POSITIVE_INFINITY : Date.parse(expiration);
  const named = value('auth-extra-groups');
  const extra = named === '' ? [] : named.split(',');
  if (Number.isNaN(expires) || !extra.every((group) => EXTRA_GROUP.test(group))) return undefined;
  const groups = [...new Set([BOOTSTRAPPERS, ...extra])].sort();
  return {
    secret: Buffer.from(value('token-secret')),
    expires,
    user: { name: `system:bootstrap:${id}`, groups: [...groups, AUTHENTICATED] },
  };
}

/** Reads bootstrap tokens. The secret `bootstrap-token-ID` in kube-system contains a bootstrap token. */
export function bootstrapTokens(store: Store, clock: Clock): TokenReader {
  // The cache key is a stored version of a secret. A stored version never changes, so a cache entry is always correct.
  const known = new WeakMap<StoredRecord, { readonly token: KnownToken | undefined }>();
  return (text) => {
    const [, id, secret] = TOKEN.exec(text) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    const record = store.get(SECRETS, NAMESPACE, `bootstrap-token-${id}`);
    if (record === undefined) return undefined;
    let entry = known.get(record);
    if (entry === undefined) {
      entry = { token: readToken(id, record) };
      known.set(record, entry);
    }
    const { token } = entry;
    if (token === undefined || token.expires <= clock.now().getTime()) return undefined;
    const given = Buffer.from(secret);
    return given.length === token.secret.length && timingSafeEqual(given, token.secret) ? token.user : undefined;
  };
}
