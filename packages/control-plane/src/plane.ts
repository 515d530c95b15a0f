import type { Clock } from './clock.ts';
import type { ApiObject } from './object.ts';

/** One answered request, as the request log has it. */
export interface RequestLogEntry {
  /** RFC 3339, when the answer was complete (for a watch: when it ended). */
  readonly time: string;
  readonly method: string;
  readonly path: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; '' outside resources. */
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
  readonly code: number;
  readonly ms: number;
}

export interface ControlPlaneOptions {
  /** Where time comes from; default: the wall clock. */
  readonly clock?: Clock;
  /** Random number in [0, 1), for generated names, uids and tokens; default: the system's. */
  readonly random?: () => number;
  /** `memory` (default), or the folder in which store, certificates and tokens are kept. */
  readonly store?: 'memory' | { readonly dir: string };
  /** TCP port on 127.0.0.1; 0 picks a free one. Absent: no socket, in process only. */
  readonly port?: number;
  /** Which controllers run: all (default), none, or those named. */
  readonly controllers?: boolean | readonly string[];
  /** CustomResourceDefinitions that are there from the start. */
  readonly crds?: readonly object[];
  /** Token of the administrator; default: a fresh random one (with a folder: the one kept there). */
  readonly adminToken?: string;
  /** Called once for every answered request. */
  readonly requestLog?: (entry: RequestLogEntry) => void;
  /** How long a change stays known to watches and pages, in milliseconds; default 5 minutes. */
  readonly historyMs?: number;
}

/** A running control plane. */
export interface ControlPlane {
  /**
   * Answers one request in process. Needs no credentials: a request without an `Authorization` header is the administrator's. Watches are streams of JSON
   * lines that end with the request's signal.
   */
  fetch(request: Request): Promise<Response>;
  /** A kubeconfig (YAML) with the CA and the administrator's token. Without a socket its server is `https://127.0.0.1`. */
  kubeconfig(): string;
  readonly url: string | undefined;
  readonly adminToken: string;
  /** The CA's certificate (PEM); undefined without a socket. */
  readonly caCertificate: string | undefined;
  /** Ends watches, controllers and the socket, and closes the store. */
  close(): Promise<void>;
}

/** An object as a client may hand it in. */
export type AnyObject = Partial<ApiObject> & { kind: string; apiVersion: string };

export function startControlPlane(_options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  return Promise.reject(new Error('the server is not linked yet'));
}
