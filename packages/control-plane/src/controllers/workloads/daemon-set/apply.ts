import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { CONTROLLER_REVISIONS, DAEMON_SETS, PODS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { phaseOf } from '../../objects/fields.ts';
import { historyLimit, type RevisionHistory, type Revisions } from '../history.ts';
import { inBatches, isTerminating, type OwnedPods } from '../pods.ts';
import type { FailedPods } from './failed-pods.ts';
import { daemonPod, HASH_LABEL, targetOf } from './node.ts';
import type { DaemonPlan, DaemonView } from './plan.ts';
import { daemonStatus } from './status.ts';

const BURST = 250;

/** Returns the template hash of a revision. */
export const hashOf = ({ metadata: { labels, name = '' } }: ApiObject): string => labels?.[HASH_LABEL] ?? name;

export class DaemonWriter {
  readonly #api: Api;
  readonly #owned: OwnedPods;
  readonly #history: RevisionHistory;
  readonly #failed: FailedPods;
  readonly #tell: Recorder;

  constructor(api: Api, parts: { owned: OwnedPods; history: RevisionHistory; failed: FailedPods; tell: Recorder }) {
    this.#api = api;
    this.#owned = parts.owned;
    this.#history = parts.history;
    this.#failed = parts.failed;
    this.#tell = parts.tell;
  }

  /**
   * Creates and deletes the planned pods. A failed creation does not stop the deletions, and a failed deletion does not
   * stop the creations.
   */
  async carryOut({ set, hash, now }: DaemonView, plan: DaemonPlan): Promise<Date | undefined> {
    let lookAgainAt: Date | undefined;
    const surplus = plan.delete.filter((pod) => {
      if (!plan.ended.includes(pod)) return true;
      const wait = phaseOf(pod) === 'Failed' ? this.#failed.waitUntil(set, pod, now) : undefined;
      if (wait !== undefined && (lookAgainAt === undefined || wait < lookAgainAt)) lookAgainAt = wait;
      if (wait === undefined) this.#reportEnded(set, pod);
      return wait === undefined;
    });
    const results = await Promise.allSettled([
      this.#create(set, hash, plan),
      ...surplus.slice(0, BURST).map((pod) => this.#owned.delete(pod, set)),
    ]);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return lookAgainAt;
  }

  /** Keeps one revision for each template. */
  async tidy(pods: readonly ApiObject[], { current, duplicates, old }: Revisions): Promise<void> {
    for (const { metadata } of [current, ...old]) {
      const { namespace, name, labels } = metadata;
      if (labels?.[HASH_LABEL] !== undefined) continue;
      const patch = { metadata: { labels: { [HASH_LABEL]: name } } };
      await allowing(this.#api.patch(CONTROLLER_REVISIONS, { namespace, name }, patch), 404);
    }
    if (duplicates.length === 0) return;
    const hash = hashOf(current);
    for (const { metadata } of pods) {
      const { namespace, name, labels } = metadata;
      if (labels?.[HASH_LABEL] === hash) continue;
      const patch = { metadata: { labels: { [HASH_LABEL]: hash } } };
      await allowing(this.#api.patch(PODS, { namespace, name }, patch), 404);
    }
    await this.#history.forget(duplicates);
  }

  /** Deletes the oldest revisions above the history limit of the DaemonSet. */
  async cleanUp(set: ApiObject, pods: readonly ApiObject[], { old }: Revisions): Promise<void> {
    const live = new Set(pods.map((pod) => pod.metadata.labels?.[HASH_LABEL]));
    const idle = old.filter((revision) => !live.has(hashOf(revision)));
    await this.#history.forget(idle.slice(0, Math.max(0, old.length - historyLimit(set))));
  }

  /** Writes the status of a DaemonSet. */
  async report(view: DaemonView): Promise<Date | undefined> {
    const { status, lookAgainAt } = daemonStatus(view);
    const old = look(view.set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return lookAgainAt;
    const { namespace, name } = view.set.metadata;
    await allowing(this.#api.patch(DAEMON_SETS, { namespace, name, subresource: 'status' }, { status }), 404, 409);
    return lookAgainAt;
  }

  async #create(set: ApiObject, hash: string, plan: DaemonPlan): Promise<void> {
    try {
      const make = (index: number) => this.#owned.create(set, daemonPod(set, hash, plan.create[index] ?? ''));
      await inBatches(plan.create.length, make, BURST);
    } catch (error) {
      if (!isTerminating(error)) throw error;
    }
  }

  #reportEnded(set: ApiObject, pod: ApiObject): void {
    const { namespace, name } = pod.metadata;
    const about = `daemon pod ${namespace}/${name} on node ${targetOf(pod)}`;
    if (phaseOf(pod) === 'Failed') {
      this.#tell(set, 'Warning', 'FailedDaemonPod', `Found failed ${about}, will try to kill it`);
    } else this.#tell(set, 'Normal', 'SucceededDaemonPod', `Found succeeded ${about}, will try to delete it`);
  }
}
