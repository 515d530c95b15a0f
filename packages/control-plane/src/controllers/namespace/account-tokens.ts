import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, text } from '../../apimachinery/objects/plain.ts';
import type { BoundObject } from '../../resources/registry.ts';
import { allowing } from '../client/api.ts';
import { SECRETS, SERVICE_ACCOUNTS } from '../client/resources.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const ACCOUNT_UID = 'kubernetes.io/service-account.uid';

const isToken = (secret: ApiObject): boolean => secret.type === TYPE;
const accountOf = ({ metadata: { annotations = {} } }: ApiObject): string => annotations[ACCOUNT_NAME] ?? '';
const base64 = (value: string): string => Buffer.from(value).toString('base64');

export interface AccountSecretValues {
  /** The cluster CA, which a controller writes into a ConfigMap in every namespace. */
  readonly caCertificate?: string | undefined;
  /**
   * Returns a service account token that is valid while its bound object exists. Without `accountToken`, Secrets of
   * service accounts get no token.
   */
  readonly accountToken?: ((account: ApiObject, bound: BoundObject) => string | undefined) | undefined;
}

function setup(
  { api, informer, queue }: ControllerContext,
  { caCertificate, accountToken }: AccountSecretValues,
): void {
  const secrets = informer(SECRETS);
  const accounts = informer(SERVICE_ACCOUNTS);
  const tokensOf = secrets.index((secret) => (isToken(secret) ? [`${namespaceOf(secret)}/${accountOf(secret)}`] : []));

  const work = queue(async (key) => {
    const secret = secrets.get(key);
    if (secret === undefined || isDying(secret) || !isToken(secret)) return;
    const { namespace, name } = splitKey(key);
    // A client may create a service account together with its Secret, so the account may be missing in the cache.
    const account = await allowing(api.get(SERVICE_ACCOUNTS, { namespace, name: accountOf(secret) }), 404);
    const known = secret.metadata.annotations?.[ACCOUNT_UID];
    const isGone = account === undefined || (known !== undefined && known !== account.metadata.uid);
    if (isGone) {
      const { uid = '', resourceVersion = '' } = secret.metadata;
      await allowing(api.delete(SECRETS, { namespace, name }, { preconditions: { uid, resourceVersion } }), 404, 409);
      return;
    }
    const data = look(secret, 'data');
    const wanted: Record<string, string> = {};
    if (text(data, 'namespace') === '') wanted.namespace = base64(namespace);
    if (caCertificate !== undefined && data['ca.crt'] !== base64(caCertificate))
      wanted['ca.crt'] = base64(caCertificate);
    if (text(data, 'token') === '') {
      const token = accountToken?.(account, { kind: 'Secret', name, uid: secret.metadata.uid ?? '' });
      if (token !== undefined) wanted.token = base64(token);
    }
    if (Object.keys(wanted).length === 0 && known !== undefined) return;
    const { uid, resourceVersion } = secret.metadata;
    const annotations = { [ACCOUNT_UID]: account.metadata.uid };
    const patch = { metadata: { uid, resourceVersion, annotations }, data: wanted };
    await allowing(api.patch(SECRETS, { namespace, name }, patch), 404, 409);
  });

  secrets.onChange(({ type, object }) => {
    if (type !== 'deleted' && isToken(object)) work.add(keyOf(object));
  });
  accounts.onChange(({ object }) => {
    for (const secret of tokensOf(keyOf(object))) work.add(keyOf(secret));
  });
}

/**
 * Writes tokens into the Secrets of service accounts.
 * @see kubernetes pkg/controller/serviceaccount/tokens_controller.go
 */
export const accountTokens = (values: AccountSecretValues): Controller => ({
  name: 'serviceaccount-token',
  setup: (context) => setup(context, values),
});
