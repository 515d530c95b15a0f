import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isDying, isTerminal, namespaceOf, phaseOf } from '../../runtime/objects.ts';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { historyLimit, RevisionHistory, type Revisions } from '../history.ts';
import { inBatches, isTerminating, OwnedPods } from '../pods.ts';
import { daemonPod, HASH_LABEL, type Placement, placementOn, targetOf } from './node.ts';
import { type DaemonPlan, type DaemonView, planPlacement, planUpdate } from './plan.ts';
import { daemonStatus } from './status.ts';

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 15 * 60_000;
/** How many pods are made, and deleted, in one go. */
const BURST = 250;

/** What of a node decides where daemons go: heartbeats change none of it. */
const sameForDaemons = (node: ApiObject, old: ApiObject): boolean =>
  jsonEquals(node.metadata.labels, old.metadata.labels) &&
  jsonEquals(look(node, 'spec').taints, look(old, 'spec').taints);

/** The template hash of a revision. A revision without a label counts under its own name. */
const hashOf = ({ metadata: { labels, name = '' } }: ApiObject): string => labels?.[HASH_LABEL] ?? name;

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(DAEMON_SETS);
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const tell = recorder('daemonset-controller');
  const owned = new OwnedPods(api, pods, tell);
  const taken = owned.took.bind(owned);
  const adoption = new Adoption(api, { owners: DAEMON_SETS, resource: PODS, objects: pods, taken });
  const revisions = informer(CONTROLLER_REVISIONS);
  const history = new RevisionHistory(api, DAEMON_SETS, revisions, HASH_LABEL);
  const setsIn = sets.index((set) => [namespaceOf(set)]);
  /** When the pod of a set on a node failed last, and how often in a row. */
  const failures = new Map<string, { count: number; at: number }>();

  const podsOf = (set: ApiObject): ApiObject[] => owned.all(set).filter((pod) => adoption.selects(set, pod));

  const viewOf = (set: ApiObject, hash: string): DaemonView => {
    const podsOn = new Map<string, ApiObject[]>();
    for (const pod of podsOf(set)) {
      const target = targetOf(pod);
      if (target === undefined || (isTerminal(pod) && isDying(pod))) continue;
      const known = podsOn.get(target);
      if (known === undefined) podsOn.set(target, [pod]);
      else known.push(pod);
    }
    const placements = new Map<string, Placement>();
    for (const node of nodes.all()) placements.set(node.metadata.name ?? '', placementOn(set, node));
    return { set, hash, podsOn, placements, now: clock.now() };
  };

  /** Whether a failed pod may be replaced now. The wait doubles with each failure, and a change of the set resets it. */
  const mayReplace = (key: string, set: ApiObject, pod: ApiObject): boolean => {
    const id = `${set.metadata.uid}/${number(look(set, 'status'), 'observedGeneration') ?? 0}/${targetOf(pod)}`;
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

  /** Whether a pod is deleted now. A pod that ended is also reported. */
  const isDue = (key: string, set: ApiObject, pod: ApiObject, plan: DaemonPlan): boolean => {
    if (!plan.ended.includes(pod)) return true;
    const failed = phaseOf(pod) === 'Failed';
    if (failed && !mayReplace(key, set, pod)) return false;
    const { namespace, name } = pod.metadata;
    const about = `daemon pod ${namespace}/${name} on node ${targetOf(pod)}`;
    if (failed) tell(set, 'Warning', 'FailedDaemonPod', `Found failed ${about}, will try to kill it`);
    else tell(set, 'Normal', 'SucceededDaemonPod', `Found succeeded ${about}, will try to delete it`);
    return true;
  };

  const create = async (set: ApiObject, hash: string, plan: DaemonPlan): Promise<void> => {
    try {
      const make = (index: number) => owned.create(set, daemonPod(set, hash, plan.create[index] ?? ''));
      await inBatches(plan.create.length, make, BURST);
    } catch (error) {
      // A namespace on its way out takes no pods, and will take the set with it.
      if (!isTerminating(error)) throw error;
    }
  };

  /** Both calls run, even if one fails. */
  const carryOut = async (key: string, { set, hash }: DaemonView, plan: DaemonPlan): Promise<void> => {
    const surplus = plan.delete.filter((pod) => isDue(key, set, pod, plan)).slice(0, BURST);
    const results = await Promise.allSettled([
      create(set, hash, plan),
      ...surplus.map((pod) => owned.delete(pod, set)),
    ]);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };

  /** Of one template there is one revision, by whose name its pods go; and each has its name in a label. */
  const tidy = async (set: ApiObject, { current, duplicates, old }: Revisions): Promise<void> => {
    for (const { metadata } of [current, ...old]) {
      const { namespace, name, labels } = metadata;
      if (labels?.[HASH_LABEL] !== undefined) continue;
      const patch = { metadata: { labels: { [HASH_LABEL]: name } } };
      await allowing(api.patch(CONTROLLER_REVISIONS, { namespace, name }, patch), 404);
    }
    if (duplicates.length === 0) return;
    const hash = hashOf(current);
    for (const { metadata } of podsOf(set)) {
      const { namespace, name, labels } = metadata;
      if (labels?.[HASH_LABEL] === hash) continue;
      await allowing(api.patch(PODS, { namespace, name }, { metadata: { labels: { [HASH_LABEL]: hash } } }), 404);
    }
    await history.forget(duplicates);
  };

  /** Forgets the oldest templates beyond the set's limit, but none that a pod is of. */
  const cleanUp = async (set: ApiObject, { old }: Revisions): Promise<void> => {
    const live = new Set(podsOf(set).map((pod) => pod.metadata.labels?.[HASH_LABEL]));
    const idle = old.filter((revision) => !live.has(hashOf(revision)));
    await history.forget(idle.slice(0, Math.max(0, old.length - historyLimit(set))));
  };

  const report = async (key: string, view: DaemonView): Promise<void> => {
    const { set } = view;
    const { status, lookAgainAt } = daemonStatus(view);
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(DAEMON_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    // The number of pods of a set that is being deleted is undefined.
    if (set === undefined || isDying(set)) return;
    const known = await history.keep(set);
    await tidy(set, known);
    const hash = hashOf(known.current);
    try {
      await adoption.claim(set);
      const view = viewOf(set, hash);
      await carryOut(key, view, planPlacement(view));
      const next = viewOf(set, hash);
      await carryOut(key, next, planUpdate(next));
      await cleanUp(set, known);
    } finally {
      await report(key, viewOf(set, hash));
    }
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
 * Keeps one pod of a DaemonSet on every node that it wants.
 * @see kubernetes pkg/controller/daemon
 */
export const daemonSetController: Controller = { name: 'daemonset', setup };
