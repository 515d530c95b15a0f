import type { KeyPair } from './authority.ts';

export interface KubeconfigFacts {
  readonly server: string;
  readonly token: string;
  readonly caCertificate: string | undefined;
  readonly client?: KeyPair | undefined;
  readonly name?: string;
}

/** Returns a kubeconfig (YAML) with one context. */
export function renderKubeconfig({ server, token, caCertificate, client, name = 'mcm' }: KubeconfigFacts): string {
  const line = (field: string, pem: string | undefined): string =>
    pem === undefined ? '' : `      ${field}: ${Buffer.from(pem).toString('base64')}\n`;
  // Quotes a text for the kubeconfig. JSON is valid YAML, so the function does not load the YAML library.
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
