import { type Clock, isAlreadyExists, isNotFound, type KubeClient, leases, type Random } from '@mcm/kube';
import type { Life } from '../node/life.ts';

const DURATION_SECONDS = 40;
const RENEW_MS = 10_000;
const RETRY_MS = 2_000;
/** The random part of the interval, so that many kubelets do not renew their Leases at the same time. */
const JITTER = 0.04;
const NAMESPACE = 'kube-node-lease';

export interface LeaseRenewerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly life: Life;
  readonly nodeName: string;
  readonly paused: () => boolean;
  readonly outage: { failed(error: unknown): void; worked(): void };
  /** Called after a late or failed renewal, because a controller may have marked the node as NotReady. */
  readonly onRecovered: () => void;
  /** Returns the UID of the Node, or undefined if the Node does not exist. */
  readonly findNode: () => Promise<string | undefined>;
}

/** Formats a time as `metav1.MicroTime`: RFC 3339 with microseconds. */
const microTime = (date: Date): string => `${date.toISOString().slice(0, 23)}000Z`;

/** Renews the Lease of a node. */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  #renewedAt = 0;
  #hasFailed = false;
  #timer: { cancel(): void } | undefined;

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
  }

  /** Creates the Lease of the node, or takes over an existing Lease with the name of the node. */
  async create(nodeUid: string): Promise<void> {
    const { client, clock, life, nodeName } = this.#options;
    const now = clock.now();
    const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid };
    const metadata = { name: nodeName, namespace: NAMESPACE, ownerReferences: [owner] };
    const spec = { holderIdentity: nodeName, leaseDurationSeconds: DURATION_SECONDS, renewTime: microTime(now) };
    const resource = client.resource(leases, NAMESPACE);
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    try {
      await resource.create(lease, { signal: life.signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // The new Node becomes the owner of the Lease. Without the new owner, the deletion of the old Node would delete
      // the Lease.
      const body = { metadata: { ownerReferences: [owner] }, spec };
      await resource.patch(nodeName, { type: 'merge', body }, { signal: life.signal });
    }
    this.#renewedAt = now.getTime();
  }

  /** Starts the renewals of the Lease. */
  start(delayMs = this.#interval()): void {
    this.#timer?.cancel();
    this.#timer = this.#options.life.after(delayMs, () => this.#tick());
  }

  #tick(): void {
    const { life, paused } = this.#options;
    if (paused()) this.start();
    else life.run(async () => this.start(await this.#renew()));
  }

  async #renew(): Promise<number> {
    const { client, clock, life, nodeName, outage } = this.#options;
    const now = clock.now();
    try {
      const body = { spec: { renewTime: microTime(now) } };
      await client.resource(leases, NAMESPACE).patch(nodeName, { type: 'merge', body }, { signal: life.signal });
      outage.worked();
    } catch (error) {
      if (isNotFound(error)) return this.#renewLost();
      if (!life.over) outage.failed(error);
      this.#hasFailed = true;
      return RETRY_MS;
    }
    const late = this.#renewedAt > 0 && now.getTime() - this.#renewedAt > DURATION_SECONDS * 1_000;
    const recovers = late || this.#hasFailed;
    this.#renewedAt = now.getTime();
    this.#hasFailed = false;
    if (recovers) this.#options.onRecovered();
    return this.#interval();
  }

  /**
   * Creates a deleted Lease again, and returns the time until the next renewal. If there is no Node, no Lease is
   * created, because a kubelet registers its Node only when it starts.
   */
  async #renewLost(): Promise<number> {
    const { findNode, life, outage } = this.#options;
    try {
      const uid = await findNode();
      if (uid !== undefined) await this.create(uid);
    } catch (error) {
      if (!life.over) outage.failed(error);
      return RETRY_MS;
    }
    return this.#interval();
  }

  #interval(): number {
    return RENEW_MS * (1 - JITTER * this.#options.random.next());
  }
}
