import type { Clock, Transport } from '@mcm/kube';

export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** Reads a file, or returns undefined if it does not exist. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /**
   * The address where service accounts exchange their assertions, instead of `token_uri` of the key. Only the operator
   * can set the address.
   */
  readonly tokenEndpoint?: string | undefined;
  /** The address of the token service, by default the service of the cloud. */
  readonly stsEndpoint?: string | undefined;
  /** The address of the IAM service, by default the service of the cloud. */
  readonly iamEndpoint?: string | undefined;
  readonly metadata?: string | undefined;
  /** The metadata service of AWS, for controllers that run on a host in AWS. */
  readonly awsMetadata?: string | undefined;
  /** The variables with AWS keys and the region, as AWS libraries read them. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
