import { items, look, number, type Plain } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { copyJson, jsonEquals } from '../../registry/object-text.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { controllerOf, isDying, namespaceOf, ownerReference, timestamp } from '../runtime/objects.ts';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../runtime/resources.ts';
import { templateHash } from './hash.ts';
import { replicasOf } from './pods.ts';
import { bounds, planRollout } from './rollout.ts';

const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';
const DESIRED = 'deployment.kubernetes.io/desired-replicas';
const MAX = 'deployment.kubernetes.io/max-replicas';

/** A template without the label that tells sets apart. */
function bareTemplate(object: ApiObject): Plain {
  const template = copyJson(look(object, 'spec', 'template'));
  delete look(template, 'metadata', 'labels')[HASH_LABEL];
  return template;
}

const revisionOf = (object: ApiObject): number => Number(object.metadata.annotations?.[REVISION] ?? 0);

const sizeAnnotations = (deployment: ApiObject): Record<string, string> => {
  const replicas = replicasOf(deployment);
  // With nothing to run there is nothing to surge.
  const surge = replicas === 0 ? 0 : bounds(deployment).surge;
  return { [DESIRED]: String(replicas), [MAX]: String(replicas + surge) };
};

/** The replica set that a deployment's template asks for. */
function newReplicaSet(deployment: ApiObject, revision: number): Plain {
  const template = copyJson(look(deployment, 'spec', 'template'));
  const hash = templateHash(template);
  const meta = look(template, 'metadata');
  const podLabels = { ...look(meta, 'labels'), [HASH_LABEL]: hash };
  const { annotations = {} } = deployment.metadata;
  const {
    'kubectl.kubernetes.io/last-applied-configuration': _applied,
    [REVISION]: _revision,
    ...inherited
  } = annotations;
  const selector = look(deployment, 'spec', 'selector');
  const { minReadySeconds } = look(deployment, 'spec');
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      labels: podLabels,
      annotations: { ...inherited, ...sizeAnnotations(deployment), [REVISION]: String(revision) },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...look(selector, 'matchLabels'), [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...meta, labels: podLabels } },
    },
  };
}

const total = (sets: readonly ApiObject[], field: string): number =>
  sets.reduce((sum, set) => sum + (number(look(set, 'status'), field) ?? 0), 0);

function condition(
  deployment: ApiObject,
  type: string,
  holds: boolean,
  reason: string,
  message: string,
  now: Date,
): Plain {
  const status = holds ? 'True' : 'False';
  const old = items(look(deployment, 'status'), 'conditions').find((one) => one.type === type);
  const same = old?.status === status && old.reason === reason && old.message === message;
  return {
    type,
    status,
    lastUpdateTime: same ? old.lastUpdateTime : timestamp(now),
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : timestamp(now),
    reason,
    message,
  };
}

/** The status of a deployment with these sets; zero counts are left out, as its type leaves them out. */
export function deploymentStatus(
  deployment: ApiObject,
  fresh: ApiObject,
  sets: readonly ApiObject[],
  now: Date,
): Plain {
  const wanted = replicasOf(deployment);
  const replicas = total(sets, 'replicas');
  const available = total(sets, 'availableReplicas');
  const updated = number(look(fresh, 'status'), 'replicas') ?? 0;
  const enough = available >= wanted - bounds(deployment).unavailable;
  const complete = updated === wanted && replicas === wanted && available === wanted;
  const name = fresh.metadata.name ?? '';
  const conditions = [
    enough
      ? condition(
          deployment,
          'Available',
          true,
          'MinimumReplicasAvailable',
          'Deployment has minimum availability.',
          now,
        )
      : condition(
          deployment,
          'Available',
          false,
          'MinimumReplicasUnavailable',
          'Deployment does not have minimum availability.',
          now,
        ),
    complete
      ? condition(
          deployment,
          'Progressing',
          true,
          'NewReplicaSetAvailable',
          `ReplicaSet "${name}" has successfully progressed.`,
          now,
        )
      : condition(deployment, 'Progressing', true, 'ReplicaSetUpdated', `ReplicaSet "${name}" is progressing.`, now),
  ];
  const counts: Plain = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas,
    updatedReplicas: updated,
    readyReplicas: total(sets, 'readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, replicas - available),
    terminatingReplicas: total(sets, 'terminatingReplicas'),
  };
  return { ...counts, conditions };
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const deployments = informer(DEPLOYMENTS);
  const replicaSets = informer(REPLICA_SETS);
  const pods = informer(PODS);
  const owned = replicaSets.index((set) => {
    const owner = controllerOf(set);
    return owner === undefined ? [] : [owner.uid];
  });
  const podsOf = pods.index((pod) => {
    const owner = controllerOf(pod);
    return owner === undefined ? [] : [owner.uid];
  });

  /** The set with the deployment's template, made when there is none; undefined until the cache has it. */
  const ensureFresh = async (deployment: ApiObject, sets: readonly ApiObject[]): Promise<ApiObject | undefined> => {
    const wanted = bareTemplate(deployment);
    const fresh = sets.find((set) => jsonEquals(bareTemplate(set), wanted));
    const { namespace } = deployment.metadata;
    const highest = Math.max(0, ...sets.filter((set) => set !== fresh).map(revisionOf));
    if (fresh === undefined) {
      await allowing(api.create(REPLICA_SETS, newReplicaSet(deployment, highest + 1), { namespace }), 409);
      return undefined;
    }
    const annotations: Record<string, string> = sizeAnnotations(deployment);
    if (revisionOf(fresh) <= highest) annotations[REVISION] = String(highest + 1);
    const known = fresh.metadata.annotations ?? {};
    if (Object.entries(annotations).some(([name, value]) => known[name] !== value)) {
      await api.patch(REPLICA_SETS, { namespace, name: fresh.metadata.name }, { metadata: { annotations } });
      return undefined;
    }
    return fresh;
  };

  const followRevision = async (deployment: ApiObject, fresh: ApiObject): Promise<void> => {
    const revision = fresh.metadata.annotations?.[REVISION];
    if (revision === undefined || deployment.metadata.annotations?.[REVISION] === revision) return;
    const { namespace, name } = deployment.metadata;
    await allowing(
      api.patch(DEPLOYMENTS, { namespace, name }, { metadata: { annotations: { [REVISION]: revision } } }),
      404,
    );
  };

  /** Sets of the past beyond the history that the deployment keeps. */
  const cleanUp = async (deployment: ApiObject, old: readonly ApiObject[]): Promise<void> => {
    const limit = number(look(deployment, 'spec'), 'revisionHistoryLimit') ?? 10;
    const idle = old.filter((set) => replicasOf(set) === 0 && (number(look(set, 'status'), 'replicas') ?? 0) === 0);
    const surplus = [...idle].sort((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(0, idle.length - limit));
    for (const { metadata } of surplus) {
      const { namespace, name } = metadata;
      await allowing(api.delete(REPLICA_SETS, { namespace, name }, { propagationPolicy: 'Background' }), 404);
    }
  };

  const report = async (deployment: ApiObject, fresh: ApiObject, sets: readonly ApiObject[]): Promise<void> => {
    const status = deploymentStatus(deployment, fresh, sets, clock.now());
    const old = look(deployment, 'status');
    if (Object.entries(status).every(([field, value]) => jsonEquals(old[field] ?? 0, value))) return;
    const { namespace, name } = deployment.metadata;
    await allowing(api.patch(DEPLOYMENTS, { namespace, name, subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const deployment = deployments.get(key);
    if (deployment === undefined || isDying(deployment)) return;
    const sets = owned(deployment.metadata.uid ?? '').filter((set) => !isDying(set));
    const fresh = await ensureFresh(deployment, sets);
    if (fresh === undefined) return;
    const old = sets.filter((set) => set !== fresh);
    const oldPodsLeft = old.some((set) => podsOf(set.metadata.uid ?? '').length > 0);
    const plan = planRollout({ deployment, fresh, old, oldPodsLeft });
    for (const { set, replicas } of plan) {
      const { namespace, name } = set.metadata;
      const { resourceVersion } = set.metadata;
      await allowing(
        api.patch(REPLICA_SETS, { namespace, name }, { metadata: { resourceVersion }, spec: { replicas } }),
        404,
        409,
      );
    }
    await followRevision(deployment, fresh);
    await report(deployment, fresh, sets);
    await cleanUp(deployment, old);
  });

  deployments.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(keyOf(object));
  });
  const enqueueOwner = (object: ApiObject): void => {
    const owner = controllerOf(object);
    if (owner?.kind === 'Deployment') work.add(`${namespaceOf(object)}/${owner.name}`);
  };
  replicaSets.onChange(({ object }) => enqueueOwner(object));
  // A Recreate rollout waits for the last pod of the old sets.
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    const owner = controllerOf(object);
    if (owner?.kind !== 'ReplicaSet') return;
    const set = replicaSets.get(`${namespaceOf(object)}/${owner.name}`);
    if (set !== undefined) enqueueOwner(set);
  });
}

/**
 * Rolls Deployments out over ReplicaSets. Progress deadlines and proportional scaling are not kept.
 * @see kubernetes pkg/controller/deployment
 */
export const deploymentController: Controller = { name: 'deployment', setup };
