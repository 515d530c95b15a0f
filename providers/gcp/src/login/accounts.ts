import type { AllowedSources } from './sources.ts';

export interface ServiceAccount {
  readonly type: 'service_account';
  readonly project: string;
  readonly email: string;
  readonly privateKey: string;
  readonly privateKeyId: string;
  readonly tokenUri: string;
}

export type SubjectSource =
  | { readonly from: 'file'; readonly path: string; readonly field: string | undefined }
  | {
      readonly from: 'url';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly field: string | undefined;
    }
  | { readonly from: 'aws' };

/** Impersonation: another account creates the tokens of this service account. */
export interface Impersonation {
  readonly url: string;
  readonly delegates: readonly string[];
  readonly lifetimeS: number;
}

export interface ExternalAccount {
  readonly type: 'external_account';
  readonly project: string;
  readonly audience: string;
  readonly stsUrl: string;
  readonly subjectTokenType: string;
  readonly source: SubjectSource;
  readonly impersonation: Impersonation | undefined;
}

export interface HostAccount {
  readonly type: 'metadata_server';
  readonly project: string;
  readonly email: string;
}

export interface ImpersonatedAccount {
  readonly type: 'impersonated_service_account';
  readonly project: string;
  readonly impersonation: Impersonation;
  readonly source: ServiceAccount | ExternalAccount | HostAccount;
}

/** The account with which the driver calls Google. */
export type Account = ServiceAccount | ExternalAccount | HostAccount | ImpersonatedAccount;

export interface AccountRules {
  /**
   * The domain of the cloud. If `universe` is undefined, the driver uses the public cloud for all credentials, as in
   * the original.
   */
  readonly universe?: string | undefined;
  /** Token sources that Secrets may use in addition to the workload token file of Gardener. */
  readonly sources?: AllowedSources | undefined;
}

export class WrongAccount extends Error {
  override readonly name = 'WrongAccount';
  readonly fix: string;

  constructor(message: string, fix = '') {
    super(message);
    this.fix = fix;
  }
}
