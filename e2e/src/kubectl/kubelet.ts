import { defined } from '@mcm/kube';
import type { ApiServer } from '../harness/api-server.ts';

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status?: { readonly phase?: string };
}

const JSON_MERGE = 'application/merge-patch+json';

async function send(plane: Pick<ApiServer, 'fetch'>, method: string, path: string, body?: unknown): Promise<void> {
  const contentType = method === 'PATCH' ? JSON_MERGE : 'application/json';
  const response = await plane.fetch(
    new Request(
      `https://plane${path}`,
      defined({
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: body === undefined ? undefined : { 'content-type': contentType },
      }),
    ),
  );
  await response.text();
}

/** Creates a Node that is Ready and has room for 20 pods. */
export const addNode = (
  plane: Pick<ApiServer, 'fetch'>,
  name: string,
  labels: Record<string, string> = {},
): Promise<void> =>
  send(plane, 'POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    status: {
      allocatable: { cpu: '4', memory: '8Gi', pods: '20' },
      capacity: { cpu: '4', memory: '8Gi', pods: '20' },
      conditions: [
        { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
      ],
      nodeInfo: { kubeletVersion: 'v1.36.3', osImage: 'test' },
    },
  });

/** Renews the Lease of a node, as its kubelet does every ten seconds. */
export async function renewLease(plane: Pick<ApiServer, 'fetch'>, node: string): Promise<void> {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const spec = {
    holderIdentity: node,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: node }, spec };
  await send(plane, 'POST', leases, lease);
  await send(plane, 'PATCH', `${leases}/${node}`, { spec });
}

const running = (pod: Pod): unknown => ({
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: image,
      ready: true,
      restartCount: 0,
      state: { running: {} },
    })),
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' })),
  },
});

/** Simulates the kubelets of all nodes. */
export async function playKubelets(plane: Pick<ApiServer, 'fetch'>, signal: AbortSignal): Promise<void> {
  const response = await plane.fetch(new Request('https://plane/api/v1/pods?watch=true', { signal }));
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: Pod };
        if (type === 'DELETED' || object.spec.nodeName === undefined) continue;
        const path = `/api/v1/namespaces/${object.metadata.namespace}/pods/${object.metadata.name}`;
        if (object.metadata.deletionTimestamp !== undefined)
          await send(plane, 'DELETE', `${path}?gracePeriodSeconds=0`);
        else if ((object.status?.phase ?? 'Pending') === 'Pending' && !line.includes('"image":"stuck"')) {
          await send(plane, 'PATCH', `${path}/status`, running(object));
        }
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
