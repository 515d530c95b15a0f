import type { Clock, Transport } from '@mcm/kube';

export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** The address of the token endpoint, which replaces `token_uri` of the key. */
  readonly tokenEndpoint?: string | undefined;
  readonly stsEndpoint?: string | undefined;
  readonly iamEndpoint?: string | undefined;
  readonly metadata?: string | undefined;
  readonly awsMetadata?: string | undefined;
  /** The environment variables with AWS keys and the AWS region. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
