import { items, look, number, type Plain, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { copyJson } from '../../registry/object-text.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { controllerOf, isDying, isReady, isTerminal, namespaceOf } from '../runtime/objects.ts';
import { CLAIMS, CONTROLLER_REVISIONS, PODS, STATEFUL_SETS } from '../runtime/resources.ts';
import { templateHash } from './hash.ts';
import { RevisionHistory } from './history.ts';
import { availability, countPods, minReadySecondsOf, OwnedPods, podOf, replicasOf } from './pods.ts';

const REVISION_LABEL = 'controller-revision-hash';
const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
const INDEX_LABEL = 'apps.kubernetes.io/pod-index';

/** The number at the end of a pod's name; -1 for a pod of another name. */
export function ordinalOf(set: ApiObject, pod: ApiObject): number {
  const prefix = `${set.metadata.name}-`;
  const { name = '' } = pod.metadata;
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^\d+$/.test(rest) ? Number(rest) : -1;
}

const firstOrdinal = (set: ApiObject): number => number(look(set, 'spec', 'ordinals'), 'start') ?? 0;

/** The revision of a set's template: the name of the ControllerRevision that keeps it. */
export const revisionName = (set: ApiObject): string =>
  `${set.metadata.name}-${templateHash(look(set, 'spec', 'template'))}`;

const claimName = (template: Plain, set: ApiObject, ordinal: number): string =>
  `${text(look(template, 'metadata'), 'name')}-${set.metadata.name}-${ordinal}`;

/** The pod of a set with this number. */
export function statefulPod(set: ApiObject, ordinal: number): Plain {
  const pod = copyJson(podOf(set, look(set, 'spec', 'template')));
  const name = `${set.metadata.name}-${ordinal}`;
  const spec = look(pod, 'spec');
  const templates = items(look(set, 'spec'), 'volumeClaimTemplates');
  const claimed = templates.map((template) => ({
    name: text(look(template, 'metadata'), 'name'),
    persistentVolumeClaim: { claimName: claimName(template, set, ordinal) },
  }));
  const names = new Set(claimed.map((volume) => volume.name));
  const others = items(spec, 'volumes').filter((volume) => !names.has(text(volume, 'name')));
  const { generateName: _generated, ...metadata } = look(pod, 'metadata');
  return {
    ...pod,
    metadata: {
      ...metadata,
      name,
      labels: {
        ...look(metadata, 'labels'),
        [POD_NAME_LABEL]: name,
        [INDEX_LABEL]: String(ordinal),
        [REVISION_LABEL]: revisionName(set),
      },
    },
    spec: {
      ...spec,
      hostname: name,
      ...(text(look(set, 'spec'), 'serviceName') === '' ? {} : { subdomain: text(look(set, 'spec'), 'serviceName') }),
      ...(claimed.length + others.length === 0 ? {} : { volumes: [...others, ...claimed] }),
    },
  };
}

/** Names of the revisions that a set or its pods still are. */
function revisionsInUse(set: ApiObject, pods: readonly ApiObject[]): Set<string> {
  const used = new Set(pods.map((pod) => pod.metadata.labels?.[REVISION_LABEL] ?? ''));
  return used.add(revisionName(set)).add(text(look(set, 'status'), 'currentRevision'));
}

/** What a set's next step is. */
export interface StatefulPlan {
  readonly create: readonly number[];
  readonly delete: readonly ApiObject[];
}

/**
 * Pods are made from the first number up, given up from the last one down, and renewed from the last one down; in order, each waits
 * for the one before to be ready (`OrderedReady`), or all at once (`Parallel`).
 */
export function planStatefulSet(set: ApiObject, pods: readonly ApiObject[], now: Date): StatefulPlan {
  const start = firstOrdinal(set);
  const end = start + replicasOf(set);
  const parallel = look(set, 'spec').podManagementPolicy === 'Parallel';
  const seconds = minReadySecondsOf(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const create: number[] = [];
  const gone: ApiObject[] = [];
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push(ordinal);
    else if (isTerminal(pod) && !isDying(pod)) gone.push(pod);
    const settled = pod !== undefined && !isDying(pod) && availability(pod, seconds, now).available;
    if (!parallel && !settled) return { create, delete: gone };
  }
  const surplus = pods
    .filter((pod) => ordinalOf(set, pod) >= end || (ordinalOf(set, pod) >= 0 && ordinalOf(set, pod) < start))
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  for (const pod of surplus) {
    if (!isDying(pod)) gone.push(pod);
    if (!parallel) return { create, delete: gone };
  }
  const update = look(set, 'spec', 'updateStrategy');
  if (create.length + gone.length > 0 || update.type === 'OnDelete') return { create, delete: gone };
  const partition = number(look(update, 'rollingUpdate'), 'partition') ?? 0;
  const revision = revisionName(set);
  for (let ordinal = end - 1; ordinal >= Math.max(start, partition); ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || isDying(pod)) break;
    if (pod.metadata.labels?.[REVISION_LABEL] !== revision) return { create, delete: [pod] };
    if (!isReady(pod)) break;
  }
  return { create, delete: gone };
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const sets = informer(STATEFUL_SETS);
  const pods = informer(PODS);
  const claims = informer(CLAIMS);
  const history = new RevisionHistory(api, informer(CONTROLLER_REVISIONS));
  const owned = new OwnedPods(api, pods);

  const ensureClaims = async (set: ApiObject, ordinal: number): Promise<void> => {
    const { namespace } = set.metadata;
    for (const template of items(look(set, 'spec'), 'volumeClaimTemplates')) {
      const name = claimName(template, set, ordinal);
      if (claims.get(`${namespace}/${name}`) !== undefined) continue;
      const { labels, annotations } = look(template, 'metadata');
      const selected = look(set, 'spec', 'selector', 'matchLabels');
      const metadata = { name, labels: { ...(labels as object | undefined), ...selected }, annotations };
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
      await allowing(api.create(CLAIMS, claim, { namespace }), 409);
    }
  };

  const report = async (key: string, set: ApiObject, all: readonly ApiObject[]): Promise<void> => {
    const seconds = minReadySecondsOf(set);
    const live = all.filter((pod) => !isTerminal(pod));
    const { ready, available, lookAgainAt } = countPods(live, seconds, clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const revision = revisionName(set);
    const updated = live.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision).length;
    const done = updated === live.length && ready === replicasOf(set);
    const old = look(set, 'status');
    const status: Plain = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: live.length,
      readyReplicas: ready,
      availableReplicas: available,
      currentReplicas: done ? updated : live.length - updated || updated,
      updatedReplicas: updated,
      currentRevision: done ? revision : (old.currentRevision ?? revision),
      updateRevision: revision,
      collisionCount: 0,
    };
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(STATEFUL_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    const all = owned.all(set);
    if (!isDying(set)) {
      await history.keep(set, revisionName(set));
      const plan = planStatefulSet(set, all, clock.now());
      for (const ordinal of plan.create) {
        await ensureClaims(set, ordinal);
        await allowing(owned.create(set, statefulPod(set, ordinal)), 403, 409);
      }
      for (const pod of plan.delete) await owned.delete(pod);
      await history.cleanUp(set, revisionsInUse(set, all));
    }
    await report(key, set, owned.all(set));
  });

  sets.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  pods.onChange(({ object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'StatefulSet') work.add(`${namespaceOf(object)}/${owner.name}`);
  });
}

/**
 * Keeps the numbered pods and claims of StatefulSets.
 * @see kubernetes pkg/controller/statefulset
 */
export const statefulSetController: Controller = { name: 'statefulset', setup };
