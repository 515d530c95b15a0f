import { parse } from 'yaml';

interface KubeconfigFile {
  clusters: { cluster: { server: string; 'certificate-authority-data'?: string } }[];
}

/**
 * Creates the user data for simulated kubelets: the API server, its CA, and a placeholder for the bootstrap token of
 * each machine.
 */
export function userDataFor(
  kubeconfig: string,
  { nodeIsMachine }: { readonly nodeIsMachine: boolean } = { nodeIsMachine: true },
): string {
  const cluster = (parse(kubeconfig) as KubeconfigFile).clusters[0]?.cluster;
  if (!cluster) throw new Error('the kubeconfig of the local control plane contains no cluster');
  return `${JSON.stringify(
    {
      server: cluster.server,
      certificateAuthorityData: cluster['certificate-authority-data'],
      bootstrapToken: '<<BOOTSTRAP_TOKEN>>',
      nodeName: nodeIsMachine ? '<<MACHINE_NAME>>' : undefined,
    },
    null,
    2,
  )}\n`;
}
