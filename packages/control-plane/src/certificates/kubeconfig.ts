import type { KeyPair } from './authority.ts';

export interface KubeconfigFacts {
  readonly server: string;
  readonly token: string;
  /** PEM. */
  readonly caCertificate: string | undefined;
  /** A client certificate of the user, in addition to its token. */
  readonly client?: KeyPair | undefined;
  /** Name of the cluster, the user and the context; default `mcm`. */
  readonly name?: string;
}

/** A kubeconfig (YAML) with one context. */
export function renderKubeconfig({ server, token, caCertificate, client, name = 'mcm' }: KubeconfigFacts): string {
  const line = (field: string, pem: string | undefined): string =>
    pem === undefined ? '' : `      ${field}: ${Buffer.from(pem).toString('base64')}\n`;
  // JSON is valid YAML, so the YAML library is not loaded for this text.
  const text = JSON.stringify;
  return `apiVersion: v1
kind: Config
clusters:
  - name: ${text(name)}
    cluster:
      server: ${text(server)}
${line('certificate-authority-data', caCertificate)}users:
  - name: ${text(name)}
    user:
${line('client-certificate-data', client?.certificate)}${line('client-key-data', client?.key)}      token: ${text(token)}
contexts:
  - name: ${text(name)}
    context:
      cluster: ${text(name)}
      user: ${text(name)}
current-context: ${text(name)}
`;
}
