import { readFileSync } from 'node:fs';
import { request as ask } from 'node:https';
import { Readable } from 'node:stream';
import { startControlPlane } from '@mcm/control-plane';
import { startRealApiServer } from '@mcm/tools/real-api-server';
import { parse } from 'yaml';
import { sharedCluster } from './shared-cluster.ts';

/**
 * The API server for tests that run programs:
 * - By default, it is the embedded control plane.
 * - If `KUBEBUILDER_ASSETS` is set, it is a kube-apiserver from this folder.
 * - If `MCM_E2E_KUBECONFIG` is set, it is a running API server that has no other clients.
 */
export interface ApiServer {
  readonly kind: 'embedded' | 'real';
  readonly url: string;
  kubeconfig(): string;
  /** Sends a request as an administrator. */
  fetch(request: Request): Promise<Response>;
  readonly auditLog?: string;
  close(): Promise<void>;
}

const realAssets = (): string | undefined => process.env.KUBEBUILDER_ASSETS || undefined;

const realKubeconfig = (): string | undefined => process.env.MCM_E2E_KUBECONFIG || undefined;

/** Returns true if the user has selected an existing API server or a kube-apiserver. */
export const isRealAsked = (): boolean => realAssets() !== undefined || realKubeconfig() !== undefined;

/** Starts or finds the API server for a test, and creates the CRDs. */
export async function startApiServer({ crds }: { readonly crds: readonly object[] }): Promise<ApiServer> {
  const assets = realAssets();
  const running = realKubeconfig();
  if (assets === undefined && running === undefined) return embedded(crds);
  const server = assets === undefined ? undefined : await startRealApiServer(assets);
  const kubeconfig = server?.kubeconfig ?? readFileSync(running ?? '', 'utf8');
  const { url, fetch } = administrator(kubeconfig);
  const shared = server === undefined ? await sharedCluster(fetch, running ?? '') : undefined;
  for (const crd of crds) await establish(fetch, crd as Crd);
  const log = server === undefined ? {} : { auditLog: server.auditLog };
  const close = async (): Promise<void> => {
    await shared?.restore();
    await server?.stop();
  };
  return { kind: 'real', url, kubeconfig: () => kubeconfig, fetch, ...log, close };
}

async function embedded(crds: readonly object[]): Promise<ApiServer> {
  const plane = await startControlPlane({ port: 0, crds });
  return {
    kind: 'embedded',
    url: plane.url ?? '',
    kubeconfig: () => plane.kubeconfig(),
    fetch: (request) => plane.fetch(request),
    close: () => plane.close(),
  };
}

interface Crd {
  readonly metadata: { readonly name: string };
}

/** Creates a CRD unless it exists, and waits until the API server serves its objects. */
async function establish(fetch: ApiServer['fetch'], crd: Crd): Promise<void> {
  const path = 'https://server/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const headers = { 'content-type': 'application/json' };
  const made = await fetch(new Request(path, { method: 'POST', headers, body: JSON.stringify(crd) }));
  if (!made.ok && made.status !== 409) throw new Error(`${crd.metadata.name}: ${await made.text()}`);
  const selector = encodeURIComponent(`metadata.name=${crd.metadata.name}`);
  const watch = await fetch(new Request(`${path}?watch=true&timeoutSeconds=60&fieldSelector=${selector}`));
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of watch.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (/"type":"Established","status":"True"|"status":"True","type":"Established"/.test(text)) break;
  }
  if (!/Established/.test(text)) throw new Error(`${crd.metadata.name} is not established: ${text}`);
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: {
      readonly server: string;
      readonly 'certificate-authority-data'?: string;
      readonly 'insecure-skip-tls-verify'?: boolean;
    };
  }[];
  readonly users: readonly {
    readonly user: {
      readonly token?: string;
      readonly 'client-certificate-data'?: string;
      readonly 'client-key-data'?: string;
    };
  }[];
}

const decoded = (name: 'ca' | 'cert' | 'key', data: string | undefined): Record<string, Buffer> =>
  data === undefined ? {} : { [name]: Buffer.from(data, 'base64') };

/**
 * Returns a function that sends requests as the first user in a kubeconfig. The kubeconfig must contain all data, as
 * after `kubectl config view --raw --flatten --minify`.
 */
function administrator(text: string): { readonly url: string; readonly fetch: ApiServer['fetch'] } {
  const { clusters, users } = parse(text) as Kubeconfig;
  const cluster = clusters[0]?.cluster;
  const user = users[0]?.user;
  if (cluster === undefined || (user?.token === undefined && user?.['client-key-data'] === undefined))
    throw new Error(
      'the kubeconfig must contain a server and a token or client-certificate-data: kubectl config view --raw --flatten --minify',
    );
  const { token } = user;
  const tls = {
    ...decoded('ca', cluster['certificate-authority-data']),
    ...decoded('cert', user['client-certificate-data']),
    ...decoded('key', user['client-key-data']),
    rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
  };
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { ...Object.fromEntries(request.headers), ...bearer };
    const body = Buffer.from(await request.arrayBuffer());
    return new Promise((resolve, reject) => {
      const options = { ...tls, method: request.method, headers };
      const asked = ask(`${cluster.server}${pathname}${search}`, options, (answer) => {
        const stream = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
        resolve(new Response(stream, { status: answer.statusCode ?? 500 }));
      });
      asked.once('error', reject).end(body);
      // The signal of a garbage-collected Request never fires. The listener of the connection therefore refers to the
      // Request.
      const end = (): void => void asked.destroy(new Error('ended by the signal'));
      if (request.signal.aborted) end();
      request.signal.addEventListener('abort', end, { once: true });
      asked.once('close', () => request.signal.removeEventListener('abort', end));
    });
  };
  return { url: cluster.server, fetch };
}
