/** An error in flags or files. A retry does not help. The message contains the attempted action, and a hint. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Address and credentials of one API server. All PEM values are texts. */
export interface ClusterConfig {
  /** The URL of the server: `https://host:port`, with an optional path prefix. */
  readonly server: string;
  readonly ca?: string | undefined;
  /** The name in the certificate of the server, if it differs from the host. */
  readonly tlsServerName?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** The files from which each value was read, for messages. */
  readonly from?: {
    readonly ca?: string | undefined;
    readonly clientCertificate?: string | undefined;
    readonly authorization?: string;
  };
  /** Returns the `Authorization` header of the next request. */
  readonly authorization?: (() => Promise<string | undefined>) | undefined;
  /** `forgetAuthorization` is called after a 401, so that `authorization` does not return the same value again. */
  readonly forgetAuthorization?: () => void;
  /**
   * Returns the current configuration from the files, for the next request. If `latest` is absent, the configuration
   * never changes.
   */
  readonly latest?: () => Promise<ClusterConfig>;
  /**
   * `lookAgain` is called when the server refused the credentials, or when its certificate is not trusted. The next
   * call of `latest` then reads the files again.
   */
  readonly lookAgain?: () => void;
  readonly proxyUrl?: string | undefined;
  /** From the kubeconfig context, or from the pod. */
  readonly namespace?: string | undefined;
}
