import type { Secret } from '@mcm/kube';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import { TemplateError } from './engine.ts';

const TYPE = 'kubernetes.io/dockerconfigjson';
const KEY = '.dockerconfigjson';

/** Finds a Secret by namespace and name. */
export type SecretLookup = (namespace: string, name: string) => Secret | undefined;

/**
 * Returns the pull secret, or undefined if the ControllerConfig refers to no pull secret. The original fails without a
 * pull secret.
 * @throws TemplateError naming the Secret and its problem
 */
export function pullSecretOf({ spec, metadata }: ControllerConfig, secretOf: SecretLookup): string | undefined {
  const reference = spec?.pullSecret;
  if (!reference) return undefined;
  const { namespace = '', name = '' } = reference;
  const secretName = `Secret ${namespace}/${name} of spec.pullSecret of ControllerConfig ${metadata.name}`;
  const secret = secretOf(namespace, name);
  if (!secret) throw new TemplateError(`${secretName} is not found`);
  if (secret.type !== TYPE) {
    throw new TemplateError(`${secretName} has type ${JSON.stringify(secret.type ?? '')}, expected ${TYPE}`);
  }
  const data = secret.data?.[KEY];
  if (data === undefined) throw new TemplateError(`${secretName} has no key ${KEY}`);
  try {
    return JSON.stringify(JSON.parse(Buffer.from(data, 'base64').toString('utf8')));
  } catch (error) {
    // The error omits the message of the JSON parser, because the message may quote the secret.
    if (error instanceof SyntaxError) throw new TemplateError(`${secretName}: key ${KEY} is not valid JSON`);
    throw error;
  }
}
