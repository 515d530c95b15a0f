import { look, type Plain } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { jsonEquals } from '../../../registry/object-text.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isActive, isDying, isReady, namespaceOf, phaseOf } from '../../runtime/objects.ts';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { RevisionHistory } from '../history.ts';
import { availability, isTerminating, minReadySecondsOf, OwnedPods } from '../pods.ts';
import { daemonPod, HASH_LABEL, hashOf, type Placement, placementOn, revisionName, targetOf } from './node.ts';
import { byAge, type DaemonPlan, type DaemonView, planPlacement, planUpdate } from './plan.ts';

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 15 * 60_000;

/** What of a node decides where daemons go: heartbeats change none of it. */
const sameForDaemons = (node: ApiObject, old: ApiObject): boolean =>
  jsonEquals(node.metadata.labels, old.metadata.labels) &&
  jsonEquals(look(node, 'spec').taints, look(old, 'spec').taints);

/** The status of a set with these pods (`updateDaemonSetStatus`). */
export function daemonStatus(view: DaemonView): { status: Plain; lookAgainAt: Date | undefined } {
  const { set, hash, now } = view;
  const counts = { desired: 0, current: 0, misplaced: 0, ready: 0, updated: 0, available: 0 };
  let lookAgainAt: Date | undefined;
  for (const [node, { runs }] of view.placements) {
    const pods = view.podsOn.get(node) ?? [];
    if (runs) counts.desired++;
    const [pod] = byAge(pods);
    if (pod === undefined) continue;
    if (!runs) {
      counts.misplaced++;
      continue;
    }
    counts.current++;
    if (pod.metadata.labels?.[HASH_LABEL] === hash) counts.updated++;
    if (!isReady(pod)) continue;
    counts.ready++;
    const { available, at } = availability(pod, minReadySecondsOf(set), now);
    if (available) counts.available++;
    else if (at !== undefined && (lookAgainAt === undefined || at < lookAgainAt)) lookAgainAt = at;
  }
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misplaced,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
  return { status, lookAgainAt };
}

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(DAEMON_SETS);
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const tell = recorder('daemonset-controller');
  const owned = new OwnedPods(api, pods, tell);
  const adoption = new Adoption(api, PODS, pods);
  const history = new RevisionHistory(api, informer(CONTROLLER_REVISIONS));
  const setsIn = sets.index((set) => [namespaceOf(set)]);
  /** When the pod of a set on a node failed last, and how often in a row. */
  const failures = new Map<string, { count: number; at: number }>();

  const viewOf = (set: ApiObject): DaemonView => {
    const podsOn = new Map<string, ApiObject[]>();
    for (const pod of owned.all(set)) {
      const target = targetOf(pod);
      const known = podsOn.get(target);
      if (known === undefined) podsOn.set(target, [pod]);
      else known.push(pod);
    }
    const placements = new Map<string, Placement>();
    for (const node of nodes.all()) placements.set(node.metadata.name ?? '', placementOn(set, node));
    return { set, hash: hashOf(set), podsOn, placements, now: clock.now() };
  };

  /** Whether a failed pod may be replaced now; the wait doubles with every failure. */
  const mayReplace = (key: string, set: ApiObject, pod: ApiObject): boolean => {
    const id = `${set.metadata.uid}/${targetOf(pod)}`;
    const now = clock.now().getTime();
    const { count, at } = failures.get(id) ?? { count: 0, at: 0 };
    const wait = count === 0 ? 0 : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (count - 1));
    if (now < at + wait) {
      work.addAt(key, new Date(at + wait));
      return false;
    }
    failures.set(id, { count: now - at > 2 * LAST_RETRY_MS ? 1 : count + 1, at: now });
    return true;
  };

  const carryOut = async (key: string, set: ApiObject, plan: DaemonPlan): Promise<void> => {
    for (const node of plan.create) {
      try {
        await owned.create(set, daemonPod(set, node));
      } catch (error) {
        if (isTerminating(error)) return;
        throw error;
      }
    }
    for (const pod of plan.delete) {
      if (plan.ended.includes(pod)) {
        const failed = phaseOf(pod) === 'Failed';
        if (failed && !mayReplace(key, set, pod)) continue;
        const { namespace, name } = pod.metadata;
        const about = `daemon pod ${namespace}/${name} on node ${targetOf(pod)}`;
        if (failed) tell(set, 'Warning', 'FailedDaemonPod', `Found failed ${about}, will try to kill it`);
        else tell(set, 'Normal', 'SucceededDaemonPod', `Found succeeded ${about}, will try to delete it`);
      }
      await owned.delete(pod, set);
    }
  };

  const report = async (key: string, set: ApiObject): Promise<void> => {
    const { status, lookAgainAt } = daemonStatus(viewOf(set));
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(DAEMON_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    if (!isDying(set)) {
      await adoption.claim(set, isActive);
      await history.keep(set, revisionName(set));
      await carryOut(key, set, planPlacement(viewOf(set)));
      await carryOut(key, set, planUpdate(viewOf(set)));
      const used = owned.all(set).map((pod) => `${set.metadata.name}-${pod.metadata.labels?.[HASH_LABEL]}`);
      await history.cleanUp(set, new Set(used).add(revisionName(set)));
    }
    await report(key, set);
  });

  sets.onChange(({ type, object }) => {
    if (type !== 'deleted') return work.add(keyOf(object));
    const { uid = '' } = object.metadata;
    owned.forget(uid);
    for (const id of failures.keys()) if (id.startsWith(`${uid}/`)) failures.delete(id);
  });
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'DaemonSet') work.add(`${namespaceOf(pod)}/${owner.name}`);
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
 * Keeps one pod of a DaemonSet on every node that it wants.
 * @see kubernetes pkg/controller/daemon
 */
export const daemonSetController: Controller = { name: 'daemonset', setup };
