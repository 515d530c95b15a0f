/** An error in flags or files that a retry cannot fix. The message contains the attempted action and a hint. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Address and credentials of one API server. Certificates and keys are PEM texts. */
export interface ClusterConfig {
  /** The URL of the server: `https://host:port`, with an optional path prefix. */
  readonly server: string;
  readonly ca?: string | undefined;
  /** The name in the certificate of the API server, if it differs from the host. */
  readonly tlsServerName?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** The file or field from which each value was read, for messages. */
  readonly from?: {
    readonly ca?: string | undefined;
    readonly clientCertificate?: string | undefined;
    readonly authorization?: string;
  };
  /** Returns the `Authorization` header of the next request. */
  readonly authorization?: (() => Promise<string | undefined>) | undefined;
  /** Called after a response 401, so that `authorization` returns another value. */
  readonly forgetAuthorization?: () => void;
  /**
   * Returns the configuration for the next request from the current files. Without `latest`, the configuration never
   * changes.
   */
  readonly latest?: () => Promise<ClusterConfig>;
  /**
   * Called when the API server refuses the credentials, or when its certificate is not trusted. The next call of
   * `latest` then reads the files again.
   */
  readonly lookAgain?: () => void;
  readonly proxyUrl?: string | undefined;
  /** The namespace in the kubeconfig context, or the namespace of the pod. */
  readonly namespace?: string | undefined;
}
