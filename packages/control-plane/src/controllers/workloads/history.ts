import { look, number, type Plain } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { type Api, allowing } from '../runtime/api.ts';
import type { Informer } from '../runtime/informer.ts';
import { controllerOf, ownerReference } from '../runtime/objects.ts';
import { CONTROLLER_REVISIONS } from '../runtime/resources.ts';

const revisionOf = (revision: ApiObject): number => number(revision, 'revision') ?? 0;

/** What a revision keeps: a patch that puts the template back, as `kubectl rollout undo` sends it. */
const dataOf = (set: ApiObject): Plain => ({
  spec: { template: { ...look(set, 'spec', 'template'), $patch: 'replace' } },
});

const HASH_LABEL = 'controller.kubernetes.io/hash';

/** Revisions can be told apart by the hash in their name. */
const withHash = (set: ApiObject, name: string, labels: unknown): Plain => ({
  ...(labels as object | undefined),
  [HASH_LABEL]: name.slice((set.metadata.name ?? '').length + 1),
});

/** The templates that a StatefulSet or DaemonSet has had, kept as ControllerRevisions. */
export class RevisionHistory {
  readonly #api: Api;
  readonly #revisions: Informer;
  readonly #of: (uid: string) => ApiObject[];

  constructor(api: Api, revisions: Informer) {
    this.#api = api;
    this.#revisions = revisions;
    this.#of = revisions.index((revision) => {
      const owner = controllerOf(revision);
      return owner === undefined ? [] : [owner.uid];
    });
  }

  /** Sees to it that the set's template is its latest revision: a template that comes back gets the next number again. */
  async keep(set: ApiObject, name: string): Promise<void> {
    const { uid = '', namespace = '' } = set.metadata;
    const all = this.#of(uid);
    const known = this.#revisions.get(`${namespace}/${name}`);
    const highest = Math.max(0, ...all.filter((one) => one !== known).map(revisionOf));
    if (known !== undefined) {
      if (revisionOf(known) > highest) return;
      await allowing(this.#api.patch(CONTROLLER_REVISIONS, { namespace, name }, { revision: highest + 1 }), 404, 409);
      return;
    }
    const { labels, annotations } = look(set, 'spec', 'template', 'metadata');
    const revision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name, labels: withHash(set, name, labels), annotations, ownerReferences: [ownerReference(set)] },
      data: dataOf(set),
      revision: highest + 1,
    };
    await allowing(this.#api.create(CONTROLLER_REVISIONS, revision, { namespace }), 409);
  }

  /** The template that a revision keeps; undefined when there is no such revision (yet). */
  templateOf(namespace: string, name: string): Plain | undefined {
    const revision = this.#revisions.get(`${namespace}/${name}`);
    if (revision === undefined) return undefined;
    const { $patch: _patch, ...template } = look(revision, 'data', 'spec', 'template');
    return template;
  }

  /** Forgets the oldest revisions beyond the set's limit; those in use (`live` names) stay. */
  async cleanUp(set: ApiObject, live: ReadonlySet<string>): Promise<void> {
    const limit = number(look(set, 'spec'), 'revisionHistoryLimit') ?? 10;
    const idle = this.#of(set.metadata.uid ?? '').filter((one) => !live.has(one.metadata.name ?? ''));
    if (idle.length <= limit) return;
    idle.sort((a, b) => revisionOf(a) - revisionOf(b));
    for (const { metadata } of idle.slice(0, idle.length - limit)) {
      await allowing(
        this.#api.delete(CONTROLLER_REVISIONS, { namespace: metadata.namespace, name: metadata.name }),
        404,
      );
    }
  }
}
