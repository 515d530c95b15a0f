import { type Machine, machines } from '@mcm/api';
import { type KubeClient, type KubeObject, type Node, nodes, type ResourceDefinition, realClock } from '@mcm/kube';
import { NAMESPACE } from '../../harness/stack.ts';

/** The autoscaler adds this taint to a Node when it decides to remove the Node. */
const DECISION = 'ToBeDeletedByClusterAutoscaler';

/** Measures the time from each decision of the autoscaler to the deletion of the machine. */
export class DeletionTimes {
  readonly #client: KubeClient;
  readonly #stopped = new AbortController();
  readonly #decided = new Map<string, number>();
  /** The time from the autoscaler's decision to the deletion of each machine, in milliseconds. */
  readonly #times = new Map<string, number>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Follows Nodes and machines until {@link stop}. */
  async follow(): Promise<void> {
    await Promise.all([
      this.#watch(nodes, undefined, ({ metadata, spec }: Node) => {
        if (spec?.taints?.some(({ key }) => key === DECISION)) this.#see(this.#decided, metadata.name);
      }),
      this.#watch<Machine>(machines, NAMESPACE, ({ metadata }) => {
        const decided = this.#decided.get(metadata.labels?.node ?? '');
        if (metadata.deletionTimestamp === undefined || decided === undefined) return;
        if (!this.#times.has(metadata.name)) this.#times.set(metadata.name, realClock.monotonic() - decided);
      }),
    ]);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Returns all measured times in milliseconds, in ascending order. */
  sorted(): readonly number[] {
    return [...this.#times.values()].sort((a, b) => a - b);
  }

  #see(times: Map<string, number>, name: string): void {
    if (!times.has(name)) times.set(name, realClock.monotonic());
  }

  async #watch<T extends KubeObject>(
    definition: ResourceDefinition<T>,
    namespace: string | undefined,
    see: (object: T) => void,
  ): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const event of this.#client.resource(definition, namespace).watch({ signal }))
          if (event.type !== 'BOOKMARK') see(event.object);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }
}
