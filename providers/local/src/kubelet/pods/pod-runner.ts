import { type Change, type Clock, isConflict, isNotFound, type KubeClient, keyOf, type Pod, pods } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Life } from '../node/life.ts';
import { type PodStep, planPod } from './plan-pod.ts';
import { endedStatus, readyStatus, runningStatus } from './pod-status.ts';

export interface PodRunnerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly life: Life;
  readonly hostIp: string;
  readonly behaviour: () => KubeletBehaviour;
  readonly paused: () => boolean;
  /** Receives the result of every request. The log reports an outage only once. */
  readonly outage: { failed(error: unknown): void; worked(): void };
  readonly onPods: () => void;
  readonly volumesAttached: (pod: Pod) => boolean;
}

interface Tracked {
  pod: Pod;
  readonly podIp: string;
  deletionSeenAt: number | undefined;
  removed: boolean;
  busy: boolean;
  failures: number;
  timer: { cancel(): void } | undefined;
}

const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const TOLD_TO_END = { phase: 'Failed', exitCode: 137 } as const;

/** Runs the pods of one node. */
export class PodRunner {
  readonly #options: PodRunnerOptions;
  readonly #pods = new Map<string, Tracked>();
  readonly #addresses = new Set<number>();

  constructor(options: PodRunnerOptions) {
    this.#options = options;
  }

  /** Returns the pods on the node whose containers have not ended. */
  running(): Pod[] {
    return [...this.#pods.values()].flatMap(({ pod }) =>
      pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' ? [] : [pod],
    );
  }

  /** Handles a change of a pod that is assigned to the node, or was assigned to it. */
  onChange(change: Change<Pod>): void {
    const key = keyOf(change.object);
    if (change.type === 'deleted') this.#forget(key);
    else this.#observe(key, change.object);
    this.#options.onPods();
  }

  reconsider(): void {
    for (const tracked of this.#pods.values()) this.#consider(tracked);
  }

  #observe(key: string, pod: Pod): void {
    let tracked = this.#pods.get(key);
    // A pod with an equal name but another UID is a new pod.
    if (tracked && tracked.pod.metadata.uid !== pod.metadata.uid) {
      this.#forget(key);
      tracked = undefined;
    }
    if (tracked) {
      // The runner ignores a version that is older than its last write, because the watch may report such a version
      // later.
      if (isNewer(tracked.pod, pod)) return;
      tracked.pod = pod;
    } else {
      tracked = this.#track(pod);
      this.#pods.set(key, tracked);
    }
    if (pod.metadata.deletionTimestamp !== undefined) tracked.deletionSeenAt ??= this.#now();
    this.#consider(tracked);
  }

  #track(pod: Pod): Tracked {
    const podIp = pod.spec.hostNetwork === true ? this.#options.hostIp : this.#address(pod);
    return { pod, podIp, deletionSeenAt: undefined, removed: false, busy: false, failures: 0, timer: undefined };
  }

  /** Returns an IP address for a pod, outside of the range of the nodes. After a restart, a pod keeps its address. */
  #address(pod: Pod): string {
    const [, , third = '0', fourth = '0'] = this.#options.hostIp.split('.');
    const prefix = `10.${(Number(third) % 64) + 181}.${fourth}.`;
    const known = pod.status?.podIP;
    if (typeof known === 'string' && known.startsWith(prefix)) {
      this.#addresses.add(Number(known.slice(prefix.length)));
      return known;
    }
    let host = 2;
    while (this.#addresses.has(host) && host < 254) host += 1;
    this.#addresses.add(host);
    return `${prefix}${host}`;
  }

  #forget(key: string): void {
    const tracked = this.#pods.get(key);
    if (!tracked) return;
    tracked.timer?.cancel();
    this.#addresses.delete(Number(tracked.podIp.split('.')[3]));
    this.#pods.delete(key);
  }

  #consider(tracked: Tracked): void {
    const { behaviour, life, paused, volumesAttached } = this.#options;
    if (tracked.busy || life.over || paused()) return;
    tracked.timer?.cancel();
    tracked.timer = undefined;
    const now = this.#now();
    const { pod, deletionSeenAt, removed } = tracked;
    const step = planPod({
      pod,
      now,
      deletionSeenAt,
      removed,
      behaviour: behaviour(),
      volumesAttached: volumesAttached(pod),
    });
    if (step.do === 'nothing') return;
    if (step.do === 'wait') tracked.timer = life.after(step.until - now, () => this.#consider(tracked));
    else this.#perform(tracked, step);
  }

  #perform(tracked: Tracked, step: PodStep): void {
    const { life, outage } = this.#options;
    tracked.busy = true;
    life.run(async () => {
      let again = 0;
      try {
        await this.#request(tracked, step);
        tracked.failures = 0;
        outage.worked();
      } catch (error) {
        // The pod was deleted or replaced. The watch will report the change, so the error is not an outage of the API
        // server.
        if (!isNotFound(error) && !isConflict(error) && !life.over) outage.failed(error);
        again = Math.min(RETRY_MS * 2 ** tracked.failures, MAX_RETRY_MS);
        tracked.failures += 1;
      } finally {
        tracked.busy = false;
      }
      if (this.#pods.get(keyOf(tracked.pod)) !== tracked) return;
      if (again > 0) tracked.timer = life.after(again, () => this.#consider(tracked));
      else this.#consider(tracked);
    });
  }

  async #request(tracked: Tracked, step: PodStep): Promise<void> {
    const { client, clock, life, hostIp } = this.#options;
    const { metadata } = tracked.pod;
    const now = clock.now();
    if (step.do === 'remove') {
      tracked.removed = true;
      const preconditions = { uid: metadata.uid };
      try {
        await client
          .resource(pods, metadata.namespace)
          .delete(metadata.name, { gracePeriodSeconds: 0, preconditions, signal: life.signal });
      } catch (error) {
        tracked.removed = false;
        throw error;
      }
      return;
    }
    const status = statusFor(tracked.pod, step, { hostIp, podIp: tracked.podIp }, now);
    if (!status) return;
    const body = { metadata: { uid: metadata.uid }, status };
    const answer = await client
      .resource(pods, metadata.namespace)
      .patch(metadata.name, { type: 'strategic', body }, { subresource: 'status', signal: life.signal });
    if (answer.metadata.uid === metadata.uid && isNewer(answer, tracked.pod)) tracked.pod = answer;
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

const isNewer = (one: Pod, other: Pod): boolean =>
  Number(one.metadata.resourceVersion) > Number(other.metadata.resourceVersion);

function statusFor(
  pod: Pod,
  step: PodStep,
  place: { readonly hostIp: string; readonly podIp: string },
  now: Date,
): object | undefined {
  switch (step.do) {
    case 'start':
      return runningStatus(pod, place, step.ready, now);
    case 'becomeReady':
      return readyStatus(pod, now);
    case 'finish':
      return endedStatus(pod, step, now);
    case 'reportEnd':
      return endedStatus(pod, TOLD_TO_END, now);
    default:
      return undefined;
  }
}
