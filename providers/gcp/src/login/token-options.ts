import type { Clock, Transport } from '@mcm/kube';

export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** Reads a file. If the file does not exist, the result is undefined. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /**
   * The address at which service accounts exchange assertions for tokens. This setting replaces `token_uri` of the key.
   * Only the operator can set the address.
   */
  readonly tokenEndpoint?: string | undefined;
  /** The address of the token service (default: the service of the cloud). */
  readonly stsEndpoint?: string | undefined;
  /** The address of the IAM service (default: the service of the cloud). */
  readonly iamEndpoint?: string | undefined;
  readonly metadata?: string | undefined;
  /** The origin of the AWS metadata service, for controllers that run on a host in AWS. */
  readonly awsMetadata?: string | undefined;
  /** The environment variables with AWS keys and the AWS region. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
