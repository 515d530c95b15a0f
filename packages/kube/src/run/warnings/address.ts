import { errorText } from '../../base/error-text.ts';
import { unreached } from '../../client/unreached.ts';
import { KubeError } from '../../contract/errors.ts';
import { untrustedSentence } from './certificates.ts';
import type { Warnings } from './warnings.ts';

export interface Addressed {
  readonly name: string;
  readonly server: string;
  readonly source: string;
}

function addressSentence({ name, server, source }: Addressed, error: unknown): string {
  const fault = unreached(error);
  const words = errorText(error);
  if (fault !== undefined)
    return `cannot reach the ${name} API server: ${fault}; the address is ${server}, from ${source} (${words})`;
  if (error instanceof KubeError && error.code === 403)
    return `the ${name} API server ${server} refuses the credentials of ${source}: use other credentials (${words})`;
  return `the ${name} API server ${server}, from ${source}, is not ready; retrying (${words})`;
}

/** Warns about a wrong API server address. Untrusted certificates and refused credentials have separate warnings. */
export function warnOfAddress(of: Addressed, error: unknown, warnings: Warnings): void {
  const ofCredentials = error instanceof KubeError && error.code === 401;
  if (!ofCredentials && untrustedSentence(of.name, error) === undefined)
    warnings.raise('api-server', of.name, addressSentence(of, error));
}
