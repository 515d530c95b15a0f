import {
  type Clock,
  type ElectionTimings,
  errorText,
  type Fence,
  type KubeClient,
  KubeError,
  type Logger,
  leases,
  namespaces,
  pause,
  type Random,
  runElected,
} from '@mcm/kube';

/** The namespace of the Lease in a target cluster, and of the bootstrap tokens. */
export const FENCE_NAMESPACE = 'kube-system';

/** The holder of this Lease is the control cluster that may manage the machines of the namespace. */
export const fenceName = (namespace: string): string => `machine-controller-${namespace}`;

/** The durations of the Lease are long, because its holder changes only when a whole control plane is moved. */
const TIMINGS: ElectionTimings = { leaseMs: 60_000, renewDeadlineMs: 40_000, retryMs: 10_000 };

const ASK_AGAIN_MS = 5_000;

export interface ControlClusterOptions {
  /** Client of the cluster with the Machine objects. */
  readonly control: KubeClient;
  /** The client of the target cluster, or undefined if the target cluster is also the control cluster. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly fence?: Fence | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const isForbidden = (error: unknown): boolean => error instanceof KubeError && error.code === 403;

/**
 * Ensures that only one control cluster manages the machines of a namespace in a target cluster. After the move of a
 * control plane, copies of its Machines stay in the old control cluster. The controller in the old control cluster must
 * not delete the VMs of the new control cluster (incident 16). Only the holder of a Lease in the target cluster may
 * continue.
 */
export class ControlCluster {
  readonly #o: ControlClusterOptions;
  #owner: string | undefined;
  #inTarget: Fence | undefined;

  constructor(options: ControlClusterOptions) {
    this.#o = options;
  }

  /** The UID of the namespace of the Machines, or undefined without permission to read the namespace. */
  readonly owner = (): string | undefined => this.#owner;

  readonly fence: Fence = {
    confirm: async () => {
      await this.#o.fence?.confirm();
      await this.#inTarget?.confirm();
    },
    held: async () => {
      await this.#o.fence?.held();
      await this.#inTarget?.held();
    },
  };

  /** @throws Error when the Lease in the target cluster is lost */
  async run(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#owner = await this.#untilReported(signal, 'the namespace of the machines', () => this.#askOwner(signal));
    const { target, namespace, log } = this.#o;
    if (signal.aborted) return;
    if (!target || this.#owner === undefined || !(await this.#mayFence(target, signal))) return work(signal);
    const lease = { namespace: FENCE_NAMESPACE, name: fenceName(namespace) };
    const { clock, random } = this.#o;
    const options = { client: target, lease, identity: this.#owner, timings: TIMINGS, clock, random, log, signal };
    const onLeader = (other: string): void =>
      log.warn('Another control cluster manages machines of this target cluster', { ...lease, other });
    let cause = '';
    const onLost = (because: string): void => {
      cause = because;
    };
    const end = await runElected({ ...options, onLeader: once(onLeader), onLost }, async (term, fence) => {
      this.#inTarget = fence;
      await work(term);
    });
    if (end === 'lost')
      throw new Error(`the process lost Lease ${lease.namespace}/${lease.name} of the target cluster: ${cause}`);
  }

  async #askOwner(signal: AbortSignal): Promise<string> {
    const { control, namespace } = this.#o;
    return (await control.resource(namespaces).get(namespace, { signal })).metadata.uid;
  }

  async #mayFence(target: KubeClient, signal: AbortSignal): Promise<boolean> {
    const client = target.resource(leases, FENCE_NAMESPACE);
    const ask = async (): Promise<true> => {
      await client.get(fenceName(this.#o.namespace), { signal }).catch((error: unknown) => {
        if (!(error instanceof KubeError && error.code === 404)) throw error;
      });
      return true;
    };
    return (await this.#untilReported(signal, 'the Lease of the target cluster', ask)) ?? false;
  }

  /**
   * Repeats `ask` until it succeeds, or returns undefined if mcm lacks the permission for `ask`. Without the
   * permission, mcm assumes that no other control cluster exists.
   */
  async #untilReported<T>(signal: AbortSignal, objectName: string, ask: () => Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#o;
    while (!signal.aborted) {
      try {
        return await ask();
      } catch (error) {
        if (signal.aborted) break;
        const fields = { error: errorText(error) };
        if (isForbidden(error)) {
          log.warn(`Cannot read ${objectName}, so mcm cannot detect other control clusters`, fields);
          return undefined;
        }
        log.warn(`Cannot read ${objectName}; mcm retries`, fields);
        await pause(clock, ASK_AGAIN_MS, signal);
      }
    }
    return undefined;
  }
}

function once(say: (text: string) => void): (text: string) => void {
  let last: string | undefined;
  return (text) => {
    if (text !== last) say(text);
    last = text;
  };
}
