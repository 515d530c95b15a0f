import { stringify } from 'yaml';

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
    caCertificate === undefined ? {} : { 'certificate-authority-data': Buffer.from(caCertificate).toString('base64') };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, ...ca } }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    },
    { lineWidth: 0 },
  );
}
