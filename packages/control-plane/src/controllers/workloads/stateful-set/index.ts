import { CLAIMS, CONTROLLER_REVISIONS, PODS, STATEFUL_SETS } from '../../client/resources.ts';
import { controllerOf, isDying, namespaceOf } from '../../objects/fields.ts';
import { namespaceWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { Adoption } from '../adopt.ts';
import { RevisionHistory } from '../history.ts';
import { OwnedPods } from '../pods.ts';
import { StatefulWriter } from './apply.ts';
import { StatefulClaims } from './claims.ts';
import { ordinalOf } from './identity.ts';
import { planStatefulSet } from './plan.ts';
import { namesIn, revisionsOf } from './status.ts';

const HASH_LABEL = 'controller.kubernetes.io/hash';

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(STATEFUL_SETS);
  const pods = informer(PODS);
  const tell = recorder('statefulset-controller');
  const history = new RevisionHistory(api, STATEFUL_SETS, informer(CONTROLLER_REVISIONS), HASH_LABEL);
  const claims = new StatefulClaims(api, informer(CLAIMS), tell);
  const owned = new OwnedPods(api, pods);
  const taken = owned.took.bind(owned);
  const adoption = new Adoption(api, { owners: STATEFUL_SETS, resource: PODS, objects: pods, taken });
  const writer = new StatefulWriter(api, { owned, claims, history, tell });

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    const known = isDying(set) ? undefined : await history.keep(set);
    const names = known === undefined ? namesIn(set) : revisionsOf(set, known);
    try {
      if (known === undefined) return;
      await adoption.claim(set, (pod) => ordinalOf(set, pod) >= 0);
      await writer.restore(set, owned.all(set));
      await writer.carryOut(set, planStatefulSet({ set, pods: owned.all(set), ...names, now: clock.now() }));
      await writer.cleanUp(set, known, names);
    } finally {
      const lookAgainAt = await writer.report(set, names, clock.now());
      if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    }
  });

  sets.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  follow({ sets, pods, claims: informer(CLAIMS), adoption, work });
}

function follow(of: {
  readonly sets: Informer;
  readonly pods: Informer;
  readonly claims: Informer;
  readonly adoption: Adoption;
  readonly work: WorkQueue;
}): void {
  const { sets, pods, claims, adoption, work } = of;
  const setsIn = sets.index(namespaceWords);
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'StatefulSet') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (controllerOf(object) !== undefined) return;
    for (const set of setsIn(namespaceOf(object))) {
      if (adoption.selects(set, object) || (type === 'deleted' && ordinalOf(set, object) >= 0)) work.add(keyOf(set));
    }
  });
  claims.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    for (const set of setsIn(namespaceOf(object))) {
      if (object.metadata.name?.includes(`-${set.metadata.name}-`) === true) work.add(keyOf(set));
    }
  });
}

/**
 * @see kubernetes pkg/controller/statefulset
 */
export const statefulSetController: Controller = { name: 'statefulset', setup };
