export interface KubeconfigFacts {
  readonly server: string;
  readonly token: string;
  /** PEM. */
  readonly caCertificate: string | undefined;
  /** Name of cluster, user and context; default `mcm`. */
  readonly name?: string;
}

/** A kubeconfig (YAML) with one context. */
export function renderKubeconfig({ server, token, caCertificate, name = 'mcm' }: KubeconfigFacts): string {
  const ca =
    caCertificate === undefined
      ? ''
      : `      certificate-authority-data: ${Buffer.from(caCertificate).toString('base64')}\n`;
  // JSON is YAML; by hand because the library would be loaded for this alone.
  const text = JSON.stringify;
  return `apiVersion: v1
kind: Config
clusters:
  - name: ${text(name)}
    cluster:
      server: ${text(server)}
${ca}users:
  - name: ${text(name)}
    user:
      token: ${text(token)}
contexts:
  - name: ${text(name)}
    context:
      cluster: ${text(name)}
      user: ${text(name)}
current-context: ${text(name)}
`;
}
