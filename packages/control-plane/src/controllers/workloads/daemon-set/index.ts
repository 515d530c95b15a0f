import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { look } from '../../../apimachinery/objects/plain.ts';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS } from '../../client/resources.ts';
import { controllerOf, isDying, namespaceOf } from '../../objects/fields.ts';
import { namespaceWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { Adoption } from '../adopt.ts';
import { RevisionHistory } from '../history.ts';
import { OwnedPods } from '../pods.ts';
import { DaemonWriter, hashOf } from './apply.ts';
import { FailedPods } from './failed-pods.ts';
import { HASH_LABEL, placementOn } from './node.ts';
import { type DaemonView, planPlacement, planUpdate, viewOf } from './plan.ts';

/** Returns whether a change of a node is irrelevant for daemon pods, for example a heartbeat. */
const sameForDaemons = (node: ApiObject, old: ApiObject): boolean =>
  jsonEquals(node.metadata.labels, old.metadata.labels) &&
  jsonEquals(look(node, 'spec').taints, look(old, 'spec').taints);

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(DAEMON_SETS);
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const revisions = informer(CONTROLLER_REVISIONS);
  const tell = recorder('daemonset-controller');
  const owned = new OwnedPods(api, pods, tell);
  const taken = owned.took.bind(owned);
  const adoption = new Adoption(api, { owners: DAEMON_SETS, resource: PODS, objects: pods, taken });
  const history = new RevisionHistory(api, DAEMON_SETS, revisions, HASH_LABEL);
  const failed = new FailedPods();
  const writer = new DaemonWriter(api, { owned, history, failed, tell });

  const podsOf = (set: ApiObject): ApiObject[] => owned.all(set).filter((pod) => adoption.selects(set, pod));
  const observe = (set: ApiObject, hash: string): DaemonView =>
    viewOf(set, hash, podsOf(set), nodes.all(), clock.now());

  const work = queue(async (key) => {
    const set = sets.get(key);
    // If a DaemonSet is being deleted, the garbage collector deletes its pods.
    if (set === undefined || isDying(set)) return;
    const known = await history.keep(set);
    await writer.tidy(podsOf(set), known);
    const hash = hashOf(known.current);
    const addAt = (time: Date | undefined): void => {
      if (time !== undefined) work.addAt(key, time);
    };
    try {
      await adoption.claim(set);
      const view = observe(set, hash);
      addAt(await writer.carryOut(view, planPlacement(view)));
      const next = observe(set, hash);
      addAt(await writer.carryOut(next, planUpdate(next)));
      await writer.cleanUp(set, podsOf(set), known);
    } finally {
      addAt(await writer.report(observe(set, hash)));
    }
  });

  sets.onChange(({ type, object }) => {
    if (type !== 'deleted') return work.add(keyOf(object));
    const { uid = '' } = object.metadata;
    owned.forget(uid);
    failed.forget(uid);
  });
  follow({ sets, nodes, pods, revisions, adoption, work });
}

function follow(of: {
  readonly sets: Informer;
  readonly nodes: Informer;
  readonly pods: Informer;
  readonly revisions: Informer;
  readonly adoption: Adoption;
  readonly work: WorkQueue;
}): void {
  const { sets, nodes, pods, revisions, adoption, work } = of;
  const setsIn = sets.index(namespaceWords);
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'DaemonSet') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (type === 'deleted' || controllerOf(object) !== undefined) return;
    for (const set of setsIn(namespaceOf(object))) if (adoption.selects(set, object)) work.add(keyOf(set));
  });
  revisions.onChange(({ type, object, old }) => {
    for (const revision of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(revision);
      if (owner?.kind === 'DaemonSet' && type !== 'added') work.add(`${namespaceOf(revision)}/${owner.name}`);
    }
    if (type === 'deleted' || controllerOf(object) !== undefined) return;
    for (const set of setsIn(namespaceOf(object))) if (adoption.selects(set, object)) work.add(keyOf(set));
  });
  nodes.onChange(({ type, object, old }) => {
    if (type === 'updated' && old !== undefined && sameForDaemons(object, old)) return;
    for (const set of sets.all()) {
      const now = placementOn(set, object);
      const before = old === undefined ? undefined : placementOn(set, old);
      const alike = type === 'updated' && now.runs === before?.runs && now.stays === before.stays;
      if (!alike && (now.runs || now.stays || before !== undefined)) work.add(keyOf(set));
    }
  });
}

/**
 * @see kubernetes pkg/controller/daemon
 */
export const daemonSetController: Controller = { name: 'daemonset', setup };
