import type { Clock, Transport } from '@mcm/kube';

/** The inputs of a login. */
export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** Reads a file. Returns undefined if the file does not exist. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /**
   * The address where service accounts exchange their assertions, instead of `token_uri` of the key. Only the operator can
   * set this address.
   */
  readonly tokenEndpoint?: string | undefined;
  /** The origin of the service that exchanges the tokens of workloads. Default: the service of the cloud. */
  readonly stsEndpoint?: string | undefined;
  /** The origin of the service that creates tokens for impersonation. Default: the service of the cloud. */
  readonly iamEndpoint?: string | undefined;
  /** The origin of the metadata server of this host. */
  readonly metadata?: string | undefined;
  /** The origin of the metadata service of AWS, for controllers that run on a host in AWS. */
  readonly awsMetadata?: string | undefined;
  /** The environment variables of this process for AWS keys and the region, as AWS libraries read them. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
