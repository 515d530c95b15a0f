import type { Transport } from '@mcm/kube';
import type { KubeletCertificate } from './memory.ts';

/** The address of an API server and the credentials. */
export interface ApiAddress {
  readonly server: string;
  readonly ca?: string | undefined;
  readonly clientCertificate?: KubeletCertificate;
}

/** A transport to an API server. */
export type ApiTransport = Transport & { close?(): Promise<void> };
