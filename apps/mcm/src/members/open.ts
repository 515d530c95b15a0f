import { type ClusterConfig, createClient, type KubeClient, realClock, undiciTransport } from '@mcm/kube';
import { version } from '../command/version.ts';

/** A connection to one API server. */
export interface Opened {
  readonly client: KubeClient;
  /**
   * Reads a path of the API server as text, such as the log of a pod.
   * @throws Error with the response of the server
   */
  readonly text: (path: string) => Promise<string>;
  /** The namespace of the context in the kubeconfig. */
  readonly namespace: string | undefined;
  close(): Promise<void>;
}

/** Connects to the cluster of a kubeconfig. `command` is a part of the user agent. */
export function openCluster(config: ClusterConfig, command: string): Opened {
  const transport = undiciTransport(config);
  const client = createClient({ transport, userAgent: `mcm/${version()} (${command})`, clock: realClock });
  const text = async (path: string): Promise<string> => {
    const answer = await transport({ method: 'GET', path, headers: { accept: '*/*' } });
    const body = await answer.text();
    if (answer.status !== 200)
      throw new Error(`${path}: the server responded with status ${answer.status}: ${body.slice(0, 200)}`);
    return body;
  };
  return { client, text, namespace: config.namespace, close: () => transport.close() };
}
