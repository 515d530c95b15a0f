import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { PODS, STATEFUL_SETS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { isDying, namespaceOf, phaseOf } from '../../objects/fields.ts';
import { historyLimit, type RevisionHistory, type Revisions } from '../history.ts';
import { isTerminating, type OwnedPods } from '../pods.ts';
import type { StatefulClaims } from './claims.ts';
import { missingIdentity, ordinalOf, revisionOfPod, statefulPod } from './identity.ts';
import type { StatefulPlan } from './plan.ts';
import { type SetRevisions, statefulStatus } from './status.ts';

const isDone = (call: Promise<unknown>): Promise<boolean> => call.then((answer) => answer !== undefined);

export class StatefulWriter {
  readonly #api: Api;
  readonly #owned: OwnedPods;
  readonly #claims: StatefulClaims;
  readonly #history: RevisionHistory;
  readonly #tell: Recorder;

  constructor(api: Api, parts: { owned: OwnedPods; claims: StatefulClaims; history: RevisionHistory; tell: Recorder }) {
    this.#api = api;
    this.#owned = parts.owned;
    this.#claims = parts.claims;
    this.#history = parts.history;
    this.#tell = parts.tell;
  }

  /** Creates and deletes the planned pods. */
  async carryOut(set: ApiObject, plan: StatefulPlan): Promise<void> {
    for (const { ordinal, revision } of plan.create) await this.#create(set, ordinal, revision);
    for (const pod of plan.delete) {
      const deletion = this.#owned.delete(pod).then(() => true);
      await this.#reported('Delete', set, pod.metadata.name ?? '', deletion);
    }
  }

  async restore(set: ApiObject, all: readonly ApiObject[]): Promise<void> {
    for (const pod of all) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal < 0) continue;
      if (phaseOf(pod) === 'Pending' && !isDying(pod)) await this.#claims.ensure(set, ordinal);
      await this.#claims.keepOwners(set, ordinal, pod);
      const labels = missingIdentity(set, pod);
      if (Object.keys(labels).length === 0 || isDying(pod)) continue;
      const { namespace, name, uid } = pod.metadata;
      const update = allowing(this.#api.patch(PODS, { namespace, name }, { metadata: { uid, labels } }), 404, 409);
      await this.#reported('Update', set, name ?? '', isDone(update));
    }
  }

  async cleanUp(set: ApiObject, { old }: Revisions, live: SetRevisions): Promise<void> {
    const used = new Set(this.#owned.all(set).map(revisionOfPod)).add(live.current).add(live.update);
    const idle = old.filter(({ metadata }) => !used.has(metadata.name ?? ''));
    await this.#history.forget(idle.slice(0, Math.max(0, idle.length - historyLimit(set))));
  }

  /** Writes the status of a StatefulSet. */
  async report(set: ApiObject, names: SetRevisions, now: Date): Promise<Date | undefined> {
    const { status, lookAgainAt } = statefulStatus(set, names, this.#owned.all(set), now);
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return lookAgainAt;
    const { namespace, name } = set.metadata;
    await allowing(this.#api.patch(STATEFUL_SETS, { namespace, name, subresource: 'status' }, { status }), 404, 409);
    return lookAgainAt;
  }

  async #create(set: ApiObject, ordinal: number, revision: string): Promise<void> {
    if (!(await this.#claims.ensure(set, ordinal))) return;
    await this.#claims.keepOwners(set, ordinal, undefined);
    const template = this.#history.templateOf(namespaceOf(set), revision) ?? look(set, 'spec', 'template');
    const pod = statefulPod(set, ordinal, template, revision);
    // If another owner has a pod with this name, the creation fails.
    const creation = allowing(this.#owned.create(set, pod), 409);
    await this.#reported('Create', set, `${set.metadata.name}-${ordinal}`, isDone(creation));
  }

  async #reported(
    verb: 'Create' | 'Update' | 'Delete',
    set: ApiObject,
    pod: string,
    call: Promise<boolean>,
  ): Promise<void> {
    const about = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    try {
      if (!(await call)) return;
      this.#tell(set, 'Normal', `Successful${verb}`, `${about} successful`);
    } catch (error) {
      if (!isTerminating(error)) {
        const why = error instanceof Error ? error.message : String(error);
        this.#tell(set, 'Warning', `Failed${verb}`, `${about} failed error: ${why}`);
        throw error;
      }
    }
  }
}
