import { Labels } from '@mcm/api';
import {
  type Clock,
  createClient,
  createInformer,
  createOutageLog,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Node,
  nodes,
  type OutageLog,
  type Pod,
  pods,
  type Random,
  type Transport,
} from '@mcm/kube';
import { projectPod } from './pods/project-pod.ts';

const KUBELET_USER_AGENT = 'kubelet/v1.36.0 (hollow)';

export interface ConnectionOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /**
   * If `nodeName` is set, the watches return only the node and its pods, because the certificate of a node allows no
   * other objects.
   */
  readonly nodeName?: string;
}

/**
 * The connection of simulated kubelets to an API server. All kubelets share one watch of pods, because a watch for each
 * kubelet would be too expensive.
 */
export class Connection {
  readonly outage: OutageLog;
  readonly #options: ConnectionOptions;
  readonly #stop = new AbortController();
  #pods: Informer<Pod> | undefined;
  #nodes: Informer<Node> | undefined;
  #selected: Informer<Node> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.outage = createOutageLog('connecting to the API server', options.clock, options.log);
  }

  /** Returns a client of the API server. If `token` is undefined, the client uses the credentials of the connection. */
  client(token?: string): KubeClient {
    const { transport, clock, random } = this.#options;
    return createClient({
      transport: token === undefined ? transport : withToken(transport, token),
      userAgent: KUBELET_USER_AGENT,
      clock,
      random,
    });
  }

  /** Returns the cache of pods by node. */
  pods(client: KubeClient): Informer<Pod> {
    const { clock, random, log, nodeName } = this.#options;
    this.#pods ??= this.#run(
      createInformer(client, pods, {
        clock,
        random,
        log,
        project: projectPod,
        fieldSelector: nodeName === undefined ? undefined : `spec.nodeName=${nodeName}`,
        indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) },
      }),
    );
    return this.#pods;
  }

  /** Returns the cache of nodes, which shows changes that other clients make to the Node of a kubelet. */
  nodes(client: KubeClient): Informer<Node> {
    const { clock, random, log, nodeName } = this.#options;
    const own = nodeName === undefined ? {} : { fieldSelector: `metadata.name=${nodeName}` };
    this.#nodes ??= this.#run(createInformer(client, nodes, { clock, random, log, ...own }));
    return this.#nodes;
  }

  /** Returns the cache of the nodes that are selected for an in-place update. */
  selectedNodes(client: KubeClient): Informer<Node> {
    const { clock, random, log, nodeName } = this.#options;
    const own = nodeName === undefined ? {} : { fieldSelector: `metadata.name=${nodeName}` };
    this.#selected ??= this.#run(
      createInformer(client, nodes, { clock, random, log, labelSelector: Labels.SelectedForUpdate, ...own }),
    );
    return this.#selected;
  }

  #run<T extends KubeObject>(informer: Informer<T>): Informer<T> {
    informer.run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#options.log.error('A watch of the simulated kubelets ended', { error });
    });
    return informer;
  }

  close(): void {
    this.#stop.abort(new Error('the local cloud stops'));
  }
}

const withToken =
  (transport: Transport, token: string): Transport =>
  (request) =>
    transport({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
