import type { AllowedSources } from './sources.ts';

/** A key of a service account: its owner signs for himself. */
export interface ServiceAccount {
  readonly type: 'service_account';
  readonly project: string;
  readonly email: string;
  readonly privateKey: string;
  readonly privateKeyId: string;
  readonly tokenUri: string;
}

/** The source of the token of a workload. */
export type SubjectSource =
  | { readonly from: 'file'; readonly path: string; readonly field: string | undefined }
  | {
      readonly from: 'url';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly field: string | undefined;
    }
  | { readonly from: 'aws' };

/** A service account that tokens are made for, by another account that may do so. */
export interface Impersonation {
  readonly url: string;
  readonly delegates: readonly string[];
  readonly lifetimeS: number;
}

/** A workload's own token, which is exchanged for one of Google's. */
export interface ExternalAccount {
  readonly type: 'external_account';
  readonly project: string;
  readonly audience: string;
  /** Where its token is exchanged. */
  readonly stsUrl: string;
  readonly subjectTokenType: string;
  readonly source: SubjectSource;
  readonly impersonation: Impersonation | undefined;
}

/** A service account of the controller's own host. */
export interface HostAccount {
  readonly type: 'metadata_server';
  readonly project: string;
  /** Its address, or `default`. */
  readonly email: string;
}

/** A service account that another account acts as. */
export interface ImpersonatedAccount {
  readonly type: 'impersonated_service_account';
  readonly project: string;
  readonly impersonation: Impersonation;
  readonly source: ServiceAccount | ExternalAccount | HostAccount;
}

/** The identity of the driver at Google. */
export type Account = ServiceAccount | ExternalAccount | HostAccount | ImpersonatedAccount;

/** The settings of the operator for accounts in Secrets. */
export interface AccountRules {
  /** Domain of the cloud that the operator has chosen; absent: the public one, whatever the credentials say, as the original. */
  readonly universe?: string | undefined;
  /** Places beside Gardener's file that Secrets may name; absent: none. */
  readonly sources?: AllowedSources | undefined;
}

/** The Secret cannot identify any account. */
export class WrongAccount extends Error {
  override readonly name = 'WrongAccount';
  /** A further fix, which the original's words do not name. */
  readonly fix: string;

  constructor(message: string, fix = '') {
    super(message);
    this.fix = fix;
  }
}
