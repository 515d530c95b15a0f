import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, labels, look } from '../../../apimachinery/objects/plain.ts';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../../client/resources.ts';
import { controllerOf, isDying, isTerminal, namespaceOf } from '../../objects/fields.ts';
import { controllerWords, namespaceWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { Adoption } from '../adopt.ts';
import { DeploymentWriter } from './apply.ts';
import { type DeploymentView, decide } from './decide.ts';
import { findFresh } from './replica-sets.ts';

const isEmptySelector = (selector: unknown): boolean =>
  Object.keys(labels(selector, 'matchLabels')).length === 0 && items(selector, 'matchExpressions').length === 0;

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const deployments = informer(DEPLOYMENTS);
  const replicaSets = informer(REPLICA_SETS);
  const pods = informer(PODS);
  const tell = recorder('deployment-controller');
  const writer = new DeploymentWriter(api, clock, tell);
  const adoption = new Adoption(api, { owners: DEPLOYMENTS, resource: REPLICA_SETS, objects: replicaSets });
  const podsOf = pods.index(controllerWords);

  const observe = async (deployment: ApiObject): Promise<DeploymentView> => {
    const sets = (await adoption.claim(deployment)).filter((set) => !isDying(set));
    const fresh = findFresh(deployment, sets);
    const old = sets.filter((set) => set !== fresh);
    const oldPodsLeft = old.some((set) => podsOf(set.metadata.uid ?? '').some((pod) => !isTerminal(pod)));
    return { deployment, fresh, old, oldPodsLeft };
  };

  const work = queue(async (key) => {
    const deployment = deployments.get(key);
    if (deployment === undefined) return;
    if (isEmptySelector(look(deployment, 'spec').selector)) {
      const message = 'This deployment is selecting all pods. A non-empty selector is required.';
      tell(deployment, 'Warning', 'SelectingAll', message);
      return;
    }
    const view = await observe(deployment);
    const lookAgainAt = await writer.apply(view, decide(view));
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
  });
  follow({ deployments, replicaSets, pods, adoption, work });
}

function follow(of: {
  readonly deployments: Informer;
  readonly replicaSets: Informer;
  readonly pods: Informer;
  readonly adoption: Adoption;
  readonly work: WorkQueue;
}): void {
  const { deployments, replicaSets, pods, adoption, work } = of;
  deployments.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(keyOf(object));
  });
  const enqueueOwner = (object: ApiObject): void => {
    const owner = controllerOf(object);
    if (owner?.kind === 'Deployment') work.add(`${namespaceOf(object)}/${owner.name}`);
  };
  const deploymentsIn = deployments.index(namespaceWords);
  replicaSets.onChange(({ type, object, old }) => {
    for (const set of old === undefined ? [object] : [object, old]) enqueueOwner(set);
    if (type === 'deleted' || controllerOf(object) !== undefined) return;
    for (const deployment of deploymentsIn(namespaceOf(object))) {
      if (adoption.selects(deployment, object)) work.add(keyOf(deployment));
    }
  });
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted' && !isTerminal(object)) return;
    const owner = controllerOf(object);
    if (owner?.kind !== 'ReplicaSet') return;
    const set = replicaSets.get(`${namespaceOf(object)}/${owner.name}`);
    if (set !== undefined) enqueueOwner(set);
  });
}

/**
 * @see kubernetes pkg/controller/deployment
 */
export const deploymentController: Controller = { name: 'deployment', setup };
