import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type KubeClient, type KubeObject, type Node, nodes, type ResourceDefinition, realClock } from '@mcm/kube';
import { NAMESPACE } from '../../harness/stack.ts';

/** The taint that the autoscaler adds to a Node before it removes the Node. */
const TAINT = 'ToBeDeletedByClusterAutoscaler';

export type Decision = 'taint' | 'replicas';

/** Measures the time from each decision of the autoscaler to the deletion of the machine. */
export class DeletionTimes {
  readonly prioritized = new Set<string>();
  added = 0;
  readonly #client: KubeClient;
  readonly #decision: Decision;
  readonly #stopped = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  readonly #tainted = new Map<string, number>();
  readonly #removed: number[] = [];
  readonly #replicas = new Map<string, number>();
  readonly #deleted = new Set<string>();
  readonly #times: number[] = [];

  constructor(client: KubeClient, decision: Decision) {
    this.#client = client;
    this.#decision = decision;
  }

  /**
   * Resolves when the watch has reported the first pool. A measurement that starts earlier would miss the initial
   * replicas.
   */
  started(): Promise<void> {
    return this.#started.promise;
  }

  async follow(): Promise<void> {
    await Promise.all([
      this.#watch(nodes, undefined, ({ metadata, spec }: Node) => {
        if (this.#tainted.has(metadata.name) || !spec?.taints?.some(({ key }) => key === TAINT)) return;
        this.#tainted.set(metadata.name, realClock.monotonic());
      }),
      this.#watch<Machine>(machines, NAMESPACE, (machine) => this.#onMachine(machine)),
      this.#watch<MachineDeployment>(machineDeployments, NAMESPACE, ({ metadata, spec }) => {
        const before = this.#replicas.get(metadata.name) ?? 0;
        const after = spec.replicas ?? 0;
        this.#replicas.set(metadata.name, after);
        this.added += Math.max(0, after - before);
        this.#started.resolve();
        for (let count = after; count < before; count += 1) this.#removed.push(realClock.monotonic());
      }),
    ]);
  }

  stop(): void {
    this.#stopped.abort();
  }

  sorted(): readonly number[] {
    return this.#times.toSorted((a, b) => a - b);
  }

  #onMachine({ metadata }: Machine): void {
    if (metadata.annotations?.[Annotations.Priority] === '1') this.prioritized.add(metadata.name);
    if (metadata.deletionTimestamp === undefined || this.#deleted.has(metadata.name)) return;
    this.#deleted.add(metadata.name);
    const decided = this.#decision === 'taint' ? this.#tainted.get(metadata.labels?.node ?? '') : this.#removed.shift();
    if (decided !== undefined) this.#times.push(realClock.monotonic() - decided);
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
