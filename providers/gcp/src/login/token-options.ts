import type { Clock, Transport } from '@mcm/kube';

/** The environment of the logins. */
export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** undefined: the file does not exist. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** Where assertions of service accounts are exchanged in place of the key's `token_uri`: the operator's word, not the Secret's. */
  readonly tokenEndpoint?: string | undefined;
  /** Origin of the service that exchanges tokens of workloads; default the cloud's. */
  readonly stsEndpoint?: string | undefined;
  /** Origin of the service that makes tokens for impersonation; default the cloud's. */
  readonly iamEndpoint?: string | undefined;
  /** Origin of the metadata server of this host. */
  readonly metadata?: string | undefined;
  /** Origin of the metadata service of a host in AWS. */
  readonly awsMetadata?: string | undefined;
  /** AWS keys and the region of this process, as AWS libraries find them in the environment. */
  readonly awsVariables?: Readonly<Record<string, string | undefined>> | undefined;
}
