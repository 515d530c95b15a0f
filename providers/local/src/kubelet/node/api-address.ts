import type { Transport } from '@mcm/kube';
import type { KubeletCertificate } from './memory.ts';

/** An API server, and as whom to talk to it. */
export interface ApiAddress {
  readonly server: string;
  readonly ca?: string | undefined;
  readonly clientCertificate?: KubeletCertificate;
}

/** A transport to the API server; closing it, where it can be, ends its connections. */
export type ApiTransport = Transport & { close?(): Promise<void> };
