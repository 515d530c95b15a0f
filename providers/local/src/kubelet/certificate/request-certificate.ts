import type { KubeClient, KubeObject, ResourceClient, ResourceDefinition } from '@mcm/kube';
import type { KubeletCertificate } from '../node/memory.ts';
import { makeSigningRequest } from './signing-request.ts';

interface CertificateSigningRequest extends KubeObject {
  spec: { request: string; signerName: string; usages: string[] };
  status?: {
    certificate?: string;
    conditions?: { type: string; status?: string; reason?: string; message?: string }[];
  };
}

const signingRequests: ResourceDefinition<CertificateSigningRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
};

/**
 * The signer for client certificates of kubelets. If TLS bootstrapping is set up, the cluster approves and signs such
 * requests automatically.
 */
const SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const WATCH_SECONDS = 60;

/** @throws {KubeError} or an `Error` if the request is denied */
export async function requestCertificate(
  client: KubeClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<KubeletCertificate> {
  const { key, request } = makeSigningRequest({ organization: 'system:nodes', commonName: `system:node:${nodeName}` });
  const resource = client.resource(signingRequests);
  const spec = {
    request: Buffer.from(request).toString('base64'),
    signerName: SIGNER,
    usages: ['digital signature', 'client auth'],
  };
  const created = await resource.create({ metadata: { generateName: 'node-csr-' }, spec }, { signal });
  const certificate = issued(created) ?? (await awaitCertificate(resource, created, signal));
  return { certificate, key };
}

/** Waits until the certificate is issued, without a time limit. */
async function awaitCertificate(
  resource: ResourceClient<CertificateSigningRequest>,
  request: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<string> {
  let current = request;
  for (;;) {
    const { name, resourceVersion } = current.metadata;
    const fieldSelector = `metadata.name=${name}`;
    for await (const event of resource.watch({
      fieldSelector,
      resourceVersion,
      timeoutSeconds: WATCH_SECONDS,
      signal,
    })) {
      const certificate = event.type === 'ADDED' || event.type === 'MODIFIED' ? issued(event.object) : undefined;
      if (certificate !== undefined) return certificate;
    }
    current = await resource.get(name, { signal });
    const certificate = issued(current);
    if (certificate !== undefined) return certificate;
  }
}

function issued({ metadata, status }: CertificateSigningRequest): string | undefined {
  const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (refusal)
    throw new Error(`certificate request ${metadata.name} was ${refusal.type.toLowerCase()}: ${refusal.message ?? ''}`);
  return status?.certificate ? Buffer.from(status.certificate, 'base64').toString() : undefined;
}
