/** An error in flags or files that a retry cannot fix, with a hint. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Address and credentials of one API server, with certificates and keys as PEM texts. */
export interface ClusterConfig {
  /** The URL of the server: `https://host:port`, with an optional path prefix. */
  readonly server: string;
  readonly ca?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  readonly from?: {
    readonly ca?: string | undefined;
    readonly clientCertificate?: string | undefined;
    readonly authorization?: string;
  };
  /** Returns the `Authorization` header of the next request. */
  readonly authorization?: (() => Promise<string | undefined>) | undefined;
  /** Called after a response 401, so that `authorization` returns another value. */
  readonly forgetAuthorization?: () => void;
  readonly latest?: () => Promise<ClusterConfig>;
  readonly lookAgain?: () => void;
  readonly proxyUrl?: string | undefined;
  /** The namespace in the kubeconfig context, or the namespace of the pod. */
  readonly namespace?: string | undefined;
}
