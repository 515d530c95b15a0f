import type { Clock, Transport } from '@mcm/kube';

/** The inputs of the logins. */
export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** Returns undefined if the file does not exist. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /**
   * The address where the assertions of service accounts are exchanged, instead of `token_uri` of the key. Only the operator
   * sets it.
   */
  readonly tokenEndpoint?: string | undefined;
  /** Origin of the service that exchanges the tokens of workloads. Default: the service of the cloud. */
  readonly stsEndpoint?: string | undefined;
  /** Origin of the service that creates tokens for impersonation. Default: the service of the cloud. */
  readonly iamEndpoint?: string | undefined;
  /** Origin of the metadata server of this host. */
  readonly metadata?: string | undefined;
  /** Origin of the metadata service, for controllers on a host in AWS. */
  readonly awsMetadata?: string | undefined;
  /** The environment variables of this process for AWS keys and the region, as AWS libraries read them. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
