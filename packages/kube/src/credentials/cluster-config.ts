/** Something in flags or files is wrong and will not get better by waiting: the message says what was tried and what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** How to reach one API server, and as whom. All PEM as text. */
export interface ClusterConfig {
  /** `https://host:port`, with a path prefix if there is one. */
  readonly server: string;
  readonly ca?: string;
  /** The name to expect in the server's certificate, where it is not the host's. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
  /** Where each was read, for sentences. */
  readonly from?: { readonly ca?: string; readonly clientCertificate?: string; readonly authorization?: string };
  /** Value of the `Authorization` header, asked for before each request; absent: no header. */
  readonly authorization?: () => Promise<string | undefined>;
  /** Called when the server answered 401, so that `authorization` does not give the same again. */
  readonly forgetAuthorization?: () => void;
  /** The same cluster as its files say now, asked for before each request; absent: it stays as it is. */
  readonly latest?: () => Promise<ClusterConfig>;
  /** Called when the server refused what it was shown, or was not trusted: the next `latest` looks at the files again. */
  readonly lookAgain?: () => void;
  readonly proxyUrl?: string;
  /** The context's or the pod's namespace. */
  readonly namespace?: string;
}
