import type { StsOptions } from './assume-role.ts';
import { type Keys, keysOf, NoKeys, within } from './credentials.ts';

export interface WebIdentityOptions extends StsOptions {
  readonly tokenFile: string;
  readonly roleArn: string;
  readonly readFile: (path: string) => Promise<string | undefined>;
}

/** Exchanges the token in a file for keys. The SDK caches the keys until shortly before their expiry. */
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
      RoleArn: roleArn,
      RoleSessionName,
      WebIdentityToken: token,
    });
    const answer = await within(clock, 'AssumeRoleWithWebIdentity', (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    return keysOf('AssumeRoleWithWebIdentity', answer.Credentials);
  };
}
