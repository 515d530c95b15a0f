import { exactInteger } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look, number, type Plain } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing, hasCode } from '../client/api.ts';
import { CONTROLLER_REVISIONS, type Resource } from '../client/resources.ts';
import { ownerReference } from '../objects/fields.ts';
import type { Informer } from '../runtime/informer.ts';
import { Adoption } from './adopt.ts';
import { templateHash } from './hash.ts';
import { compareRevisions, highest, nextRevision } from './revision.ts';

export function revisionOf({ revision }: ApiObject): bigint {
  return typeof revision === 'bigint' || Number.isSafeInteger(revision) ? BigInt(revision as bigint | number) : 0n;
}

const asJson = (revision: bigint): number | bigint => exactInteger(revision.toString(), Number(revision));

const createdAt = ({ metadata }: ApiObject): number => new Date(metadata.creationTimestamp ?? 0).getTime();

const byRevision = (a: ApiObject, b: ApiObject): number =>
  compareRevisions(revisionOf(a), revisionOf(b)) ||
  createdAt(a) - createdAt(b) ||
  ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);

/**
 * Returns the data of a ControllerRevision: a patch with the template. `kubectl rollout undo` sends the patch to
 * restore the template.
 */
const dataOf = (set: ApiObject): Plain => ({
  spec: { template: { ...look(set, 'spec', 'template'), $patch: 'replace' } },
});

/** Returns the hash in the name of a revision. */
function hashOf(set: ApiObject): string {
  const collisions = number(look(set, 'status'), 'collisionCount') ?? 0;
  return templateHash(collisions === 0 ? look(set, 'spec', 'template') : [look(set, 'spec', 'template'), collisions]);
}

export interface Revisions {
  readonly current: ApiObject;
  /** The caller deletes duplicate revisions, because a template needs only one revision. */
  readonly duplicates: readonly ApiObject[];
  readonly old: readonly ApiObject[];
}

export class RevisionHistory {
  readonly #api: Api;
  readonly #owners: Resource;
  readonly #label: string;
  readonly #revisions: Informer;
  readonly #adoption: Adoption;

  constructor(api: Api, owners: Resource, revisions: Informer, label: string) {
    this.#api = api;
    this.#owners = owners;
    this.#label = label;
    this.#revisions = revisions;
    this.#adoption = new Adoption(api, { owners, resource: CONTROLLER_REVISIONS, objects: revisions });
  }

  /**
   * Stores the current template of a set. If the set returns to a former template, the former revision gets the next
   * number. If a matching revision has no owner, the set adopts the revision.
   * @throws StatusError if another object has the name of the revision. Before the error, the collision count of the
   * set increases, so the next attempt uses another name
   */
  async keep(set: ApiObject): Promise<Revisions> {
    const all = (await this.#adoption.claim(set)).sort(byRevision);
    const data = dataOf(set);
    const same = all.filter((one) => jsonEquals(one.data, data));
    const old = all.filter((one) => !same.includes(one));
    const next = nextRevision(highest(old.map(revisionOf)));
    const known = same.at(-1);
    if (known === undefined) return { current: await this.#create(set, data, next), duplicates: [], old };
    const duplicates = same.slice(0, -1);
    if (revisionOf(known) >= next) return { current: known, duplicates, old };
    const { namespace, name } = known.metadata;
    const current = await this.#api.patch(CONTROLLER_REVISIONS, { namespace, name }, { revision: asJson(next) });
    return { current, duplicates, old };
  }

  async #create(set: ApiObject, data: Plain, next: bigint): Promise<ApiObject> {
    const { namespace = '', annotations } = set.metadata;
    const hash = hashOf(set);
    const name = `${set.metadata.name}-${hash}`;
    const labels = { ...look(set, 'spec', 'template', 'metadata', 'labels'), [this.#label]: hash };
    const revision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name, labels, annotations, ownerReferences: [ownerReference(set)] },
      data,
      revision: asJson(next),
    };
    try {
      return await this.#api.create(CONTROLLER_REVISIONS, revision, { namespace });
    } catch (error) {
      if (!hasCode(error, 409)) throw error;
      const there = await this.#api.get(CONTROLLER_REVISIONS, { namespace, name });
      if (jsonEquals(there.data, data)) return there;
      await this.#collide(set);
      throw error;
    }
  }

  async #collide(set: ApiObject): Promise<void> {
    const { namespace, name, resourceVersion } = set.metadata;
    const collisionCount = (number(look(set, 'status'), 'collisionCount') ?? 0) + 1;
    const patch = { metadata: { resourceVersion }, status: { collisionCount } };
    await allowing(this.#api.patch(this.#owners, { namespace, name, subresource: 'status' }, patch), 404, 409);
  }

  templateOf(namespace: string, name: string): Plain | undefined {
    const revision = this.#revisions.get(`${namespace}/${name}`);
    if (revision === undefined) return undefined;
    const { $patch: _patch, ...template } = look(revision, 'data', 'spec', 'template');
    return template;
  }

  async forget(revisions: readonly ApiObject[]): Promise<void> {
    for (const { metadata } of revisions) {
      const { namespace, name } = metadata;
      await allowing(this.#api.delete(CONTROLLER_REVISIONS, { namespace, name }), 404);
    }
  }
}

export const historyLimit = (set: ApiObject): number => number(look(set, 'spec'), 'revisionHistoryLimit') ?? 10;
