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
  /** Carries each request's own credentials, or none where the transport has them. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** One node's own connection: it watches no others' pods and nodes. The certificate of a node allows only this. */
  readonly nodeName?: string;
}

/**
 * One API server, as all kubelets of the process share it: few connections, one watch of pods. A real kubelet watches
 * its own pods; five hundred of them in a process would be five hundred watches for the same events. If each kubelet has its own
 * credentials, each also has its own connection and watch.
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
    this.outage = createOutageLog('talking to the API server', options.clock, options.log);
  }

  /** A client whose requests carry a token; without one, the transport's own credentials. */
  client(token?: string): KubeClient {
    const { transport, clock, random } = this.#options;
    return createClient({
      transport: token === undefined ? transport : withToken(transport, token),
      userAgent: KUBELET_USER_AGENT,
      clock,
      random,
    });
  }

  /** A live copy of the pods by node. Its watch starts with the first use. */
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

  /** A live copy of the nodes, for what others tell a kubelet through its Node. */
  nodes(client: KubeClient): Informer<Node> {
    const { clock, random, log, nodeName } = this.#options;
    const own = nodeName === undefined ? {} : { fieldSelector: `metadata.name=${nodeName}` };
    this.#nodes ??= this.#run(createInformer(client, nodes, { clock, random, log, ...own }));
    return this.#nodes;
  }

  /** The nodes that were selected for an update in place; no event of any other costs anything. */
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
      if (!this.#stop.signal.aborted) this.#options.log.error('A watch of the kubelets ended', { error });
    });
    return informer;
  }

  close(): void {
    this.#stop.abort(new Error('the local cloud stops'));
  }
}

/** The same transport, with every request as the token's user. */
const withToken =
  (transport: Transport, token: string): Transport =>
  (request) =>
    transport({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
