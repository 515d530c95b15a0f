import {
  createClient,
  handlerTransport,
  type KubeClient,
  type Lease,
  leases,
  type Node,
  nodes,
  type Pod,
  pods,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import type { CloudOptions } from '../cloud/create-cloud.ts';
import { createLocalCloud, type LocalCloud } from '../cloud/local-cloud.ts';
import type { ApiTransport } from '../kubelet/node/api-address.ts';
import type { KubeletBehaviour } from '../machine/behaviour.ts';
import { type CloudRig, cloudRigAround } from './cloud-rig.ts';

interface Plane {
  fetch(request: Request): Promise<Response>;
  readonly transport: Transport;
  close(): Promise<void>;
}

interface LoggedCall {
  readonly method: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly userAgent: string;
}

export type StartPlane = (options: {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly controllers: boolean | readonly string[];
  readonly requestLog: (entry: LoggedCall) => void;
}) => Promise<Plane>;

/** A cloud with simulated kubelets that join an API server in the same process. */
export interface JoinRig extends CloudRig<LocalCloud>, AsyncDisposable {
  readonly plane: Plane;
  readonly client: KubeClient;
  /** Returns the kubelet requests to which the API server has responded, except for lists and watches. */
  kubeletRequests(): readonly LoggedCall[];
  node(name: string): Promise<Node | undefined>;
  lease(name: string): Promise<Lease | undefined>;
  pod(name: string): Promise<Pod | undefined>;
  /** Creates a pod in the namespace `default` that is bound to a node. */
  run(nodeName: string, name: string, overrides?: { metadata?: object; spec?: object }): Promise<Pod>;
}

export interface JoinRigOptions extends Partial<CloudOptions> {
  readonly clock?: VirtualClock;
  readonly defaults?: KubeletBehaviour;
  readonly plane?: Plane;
  /** Returns the connection to a server, or undefined if the server is the API server. */
  readonly elsewhere?: (server: string) => ApiTransport | undefined;
  readonly controllers?: boolean | readonly string[];
  /** Wraps the API server in a proxy, so that a test can change requests and responses of the kubelets. */
  readonly between?: (fetch: Plane['fetch']) => Plane['fetch'];
}

export async function joinRig(startPlane: StartPlane, options: JoinRigOptions = {}): Promise<JoinRig> {
  const { clock = new VirtualClock(), defaults = {}, between = (fetch) => fetch, elsewhere, ...cloudOptions } = options;
  const requests: LoggedCall[] = [];
  const random = seededRandom(11);
  const plane =
    options.plane ??
    (await startPlane({
      clock,
      random: () => random.next(),
      controllers: options.controllers ?? false,
      requestLog: (entry) => {
        const streams = ['watch', 'list'].includes(entry.verb);
        if (entry.userAgent.startsWith('kubelet/') && !streams) requests.push(entry);
      },
    }));
  const transport = handlerTransport(between(plane.fetch));
  const rig = cloudRigAround(
    (parts) =>
      createLocalCloud({
        ...parts,
        kubelets: {
          connect: ({ server }) => elsewhere?.(server) ?? transport,
          nodeCluster: { server: 'https://127.0.0.1', transport, bare: transport },
          defaults,
        },
      }),
    { ...cloudOptions, clock },
  );
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const find = async <T>(call: Promise<T>): Promise<T | undefined> => call.catch(() => undefined);
  return {
    ...rig,
    plane,
    client,
    kubeletRequests: () => requests,
    node: (name) => find(client.resource(nodes).get(name)),
    lease: (name) => find(client.resource(leases, 'kube-node-lease').get(name)),
    pod: (name) => find(client.resource(pods, 'default').get(name)),
    run: (nodeName, name, { metadata, spec } = {}) =>
      client.resource(pods, 'default').create({
        metadata: { name, ...metadata },
        spec: { nodeName, containers: [{ name: 'main', image: 'app:1' }], ...spec },
      }),
    [Symbol.asyncDispose]: async () => {
      await rig.cloud.close();
      if (!options.plane) await plane.close();
    },
  };
}

export const condition = (object: Node | Pod | undefined, type: string): string | undefined =>
  object?.status?.conditions?.find((each) => each.type === type)?.status;
