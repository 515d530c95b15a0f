import {
  createClient,
  type KubeClient,
  type Pod,
  pods,
  seededRandom,
  type Transport,
  type TransportRequest,
  type VirtualClock,
} from '@mcm/kube';
import { createLocalDriver, type LocalDriver } from '../driver/driver.ts';

export interface PodRig {
  readonly clock: VirtualClock;
  readonly admin: KubeClient;
  readonly kubeconfig: string;
  readonly requests: string[];
  readonly transport: Transport;
  driver(wrap?: (transport: Transport) => Transport): LocalDriver;
}

export interface PodRigOptions {
  readonly clock: VirtualClock;
  readonly plane: { readonly transport: Transport; kubeconfig(): string };
  /** Whether an applied Pod becomes Running (default: true). */
  readonly runs?: boolean;
}

export function podRig({ clock, plane, runs = true }: PodRigOptions): PodRig {
  const requests: string[] = [];
  const admin = createClient({
    transport: plane.transport,
    userAgent: 'test',
    clock,
    random: seededRandom(1),
  });
  /** Sets applied Pods to Running, like the kubelet. */
  const kubelet = async ({ method, path }: TransportRequest): Promise<void> => {
    const [, namespace = '', name = ''] = /\/namespaces\/([^/]+)\/pods\/([^/?]+)\?/.exec(path) ?? [];
    if (!runs || method !== 'PATCH' || name === '') return;
    const status: Pod['status'] = { phase: 'Running', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] };
    await admin.resource(pods, namespace).patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
  };
  const transport: Transport = async (request) => {
    requests.push(`${request.method} ${request.path.replace(/\?.*/, '')}`);
    const answer = await plane.transport(request);
    if (answer.status < 300) await kubelet(request);
    return answer;
  };
  return {
    clock,
    admin,
    requests,
    transport,
    kubeconfig: plane.kubeconfig(),
    driver: (wrap = (below) => below) =>
      createLocalDriver({
        clock,
        connect: () => () => Promise.reject(new Error('there is no cloud')),
        pods: {
          random: seededRandom(1),
          connectCluster: ({ authorization }) => authorized(wrap(transport), authorization),
        },
      }),
  };
}

export function authorized(
  below: Transport,
  authorization: (() => Promise<string | undefined>) | undefined,
): Transport {
  return async (request) => {
    const header = await authorization?.();
    return below(header ? { ...request, headers: { ...request.headers, authorization: header } } : request);
  };
}
