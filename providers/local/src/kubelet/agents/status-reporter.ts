import { type Clock, type Condition, isNotFound, type KubeClient, type Node, nodes, type Random } from '@mcm/kube';
import type { Life } from '../node/life.ts';
import { carryTransitions, type NodeFacts, nodeConditions } from '../node/node-object.ts';

const HEARTBEAT_MS = 5 * 60_000;
const RETRY_MS = 5_000;
const JITTER = 0.04;

export interface StatusReporterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly life: Life;
  readonly facts: () => NodeFacts;
  readonly ready: () => boolean;
  readonly volumesInUse: () => readonly string[] | undefined;
  readonly paused: () => boolean;
  readonly outage: { failed(error: unknown): void; worked(): void };
}

/**
 * Writes the conditions of a Node when they change, and periodically as a heartbeat. The writes are strategic merge
 * patches, so that the conditions of other clients stay unchanged.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #reported: readonly Condition[];
  #timer: { cancel(): void } | undefined;
  #volumes: readonly string[] = [];
  #busy = false;
  #wanted = false;
  #returning = false;

  constructor(options: StatusReporterOptions, registered: Node) {
    this.#options = options;
    this.#reported = registered.status?.conditions ?? [];
    this.#volumes = registered.status?.volumesInUse ?? [];
    this.#schedule();
  }

  /**
   * Writes the status if it differs from the last report.
   * - `force`: the status is always written.
   * - `returning`: the kubelet was unreachable, so its Node may be NotReady, and the recovery counts as a transition.
   */
  report(options: { readonly force?: boolean; readonly returning?: boolean } = {}): void {
    this.#returning ||= options.returning === true;
    const { life, paused } = this.#options;
    this.#wanted ||= options.force === true || this.#returning || this.#differs();
    if (!this.#wanted || this.#busy || paused()) return;
    this.#busy = true;
    life.run(async () => {
      const again = await this.#write();
      this.#busy = false;
      if (again > 0) life.after(again, () => this.report({ force: true }));
      else this.report();
    });
  }

  #next(): Condition[] {
    const { facts, ready, clock } = this.#options;
    return carryTransitions(nodeConditions(facts().behaviour, clock.now(), ready()), this.#reported);
  }

  #differs(): boolean {
    const known = new Map(this.#reported.map(({ type, status }) => [type, status]));
    if (this.#next().some(({ type, status }) => known.get(type) !== status)) return true;
    const volumes = this.#options.volumesInUse();
    return volumes !== undefined && volumes.join() !== this.#volumes.join();
  }

  /** Writes the status. */
  async #write(): Promise<number> {
    const { client, facts, life, outage, volumesInUse } = this.#options;
    this.#wanted = false;
    try {
      if (this.#returning) {
        const node = await client.resource(nodes).get(facts().name, { signal: life.signal });
        this.#reported = node.status?.conditions ?? [];
        this.#returning = false;
      }
      const conditions = this.#next();
      const volumes = volumesInUse();
      const status = { conditions, volumesInUse: volumes };
      await client
        .resource(nodes)
        .patch(facts().name, { type: 'strategic', body: { status } }, { subresource: 'status', signal: life.signal });
      this.#reported = conditions;
      this.#volumes = volumes ?? this.#volumes;
      this.#schedule();
      outage.worked();
    } catch (error) {
      // If the Node was deleted, the kubelet sends no further status, because a running kubelet does not register its
      // Node again.
      if (isNotFound(error)) return 0;
      if (!life.over) outage.failed(error);
      return RETRY_MS;
    }
    return 0;
  }

  #schedule(): void {
    const { life, random } = this.#options;
    this.#timer?.cancel();
    this.#timer = life.after(HEARTBEAT_MS * (1 - JITTER * random.next()), () => {
      this.#schedule();
      this.report({ force: true });
    });
  }
}
