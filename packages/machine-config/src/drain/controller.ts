import { Annotations, Labels } from '@mcm/api';
import { type Attempt, type DrainPod, planDrain } from '@mcm/core';
import {
  again,
  type Change,
  type Controller,
  createController,
  done,
  type Informer,
  ignoreNotFound,
  type Key,
  makeKey,
  type Node,
  nodes,
  type Outcome,
  type Pod,
  type PodDisruptionBudget,
} from '@mcm/kube';
import { annotationOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import type { ConfigEvent } from '../constants/event-meanings.ts';
import type { ConfigContext } from '../controllers/caches.ts';
import { BudgetRoom, budgetGivesWay, isUnder } from './budgets.ts';
import { type EvictOptions, evict } from './evict.ts';
import { observeNode } from './observe.ts';
import { podsOfNode } from './pod-cache.ts';
import { type DrainRequest, DrainRequestError, drainRequestOf } from './request.ts';

/** Options of the drain controller. */
export interface DrainControllerOptions {
  readonly pods: Informer<Pod>;
  /**
   * The informer of PodDisruptionBudgets. After a change of a budget, the controller retries the eviction of blocked
   * pods.
   */
  readonly budgets?: Informer<PodDisruptionBudget>;
  readonly concurrency?: number;
  readonly mayUncordon?: ((node: Node) => boolean) | undefined;
}

const CONCURRENCY = 5;
/**
 * After the first time limit, the controller reports a slow drain. After the second time limit, the controller reports
 * a failed drain, and continues the drain. Source: drain_controller.go.
 */
const SLOW_MS = 600_000;
const FAILED_MS = 3_600_000;
const LOOK_AGAIN_MS = 60_000;
const PODS_NAMED = 5;

/** The state of a drain in progress. A restart of the process resets only the timers of the drain. */
interface UnderWay {
  readonly value: string;
  readonly since: number;
  readonly attempts: Map<string, Attempt>;
  reported: 'nothing' | 'slow' | 'failed';
}

/**
 * Drains and uncordons nodes when their daemons request it. The controller does not wait until evicted pods have ended,
 * because the deletion of a pod starts the next check.
 */
export function createDrainController(context: ConfigContext, options: DrainControllerOptions): Controller {
  const { caches, clock, random, log, metrics } = context;
  const underWay = new Map<Key, UnderWay>();
  const drains = new Drains(context, options, underWay);
  const controller = createController({
    name: 'drain',
    concurrency: options.concurrency ?? CONCURRENCY,
    clock,
    random,
    log,
    of: caches.nodes,
    reconcile: (key, signal) => drains.look(key, signal),
    metrics,
  });
  controller.watch(caches.nodes, (change) => {
    if (change.type === 'updated' && sameRequest(change.old, change.object)) return [];
    return [change.key];
  });
  controller.watch(options.pods, ({ object }) => {
    const { nodeName } = object.spec;
    return nodeName !== undefined && underWay.has(nodeName) ? [nodeName] : [];
  });
  if (options.budgets) controller.watch(options.budgets, (change) => drains.budgetChanged(change));
  return controller;
}

const sameRequest = (old: Node, node: Node): boolean =>
  annotationOf(old, NodeAnnotations.DesiredDrain) === annotationOf(node, NodeAnnotations.DesiredDrain) &&
  annotationOf(old, NodeAnnotations.LastAppliedDrain) === annotationOf(node, NodeAnnotations.LastAppliedDrain) &&
  (old.spec?.unschedulable ?? false) === (node.spec?.unschedulable ?? false);

class Drains {
  readonly #context: ConfigContext;
  readonly #options: DrainControllerOptions;
  readonly #underWay: Map<Key, UnderWay>;
  readonly #room = new BudgetRoom();

  constructor(context: ConfigContext, options: DrainControllerOptions, underWay: Map<Key, UnderWay>) {
    this.#context = context;
    this.#options = options;
    this.#underWay = underWay;
  }

  async look(key: Key, signal: AbortSignal): Promise<Outcome> {
    const node = this.#context.caches.nodes.store.get(key);
    const request = node && this.#request(node);
    if (!node || !request) {
      this.#underWay.delete(key);
      return done;
    }
    if (request.verb === 'uncordon') {
      this.#underWay.delete(key);
      return this.#uncordon(node, request);
    }
    return this.#drain(node, request, signal);
  }

  budgetChanged(change: Change<PodDisruptionBudget>): readonly Key[] {
    let room = budgetGivesWay(change);
    const woken: Key[] = [];
    for (const [name, { attempts }] of this.#underWay) {
      if (room <= 0) break;
      const held = podsOfNode(this.#options.pods, name)
        .filter((pod) => attempts.get(pod.metadata.uid)?.result === 'blocked' && isUnder(change.object, pod))
        .slice(0, room);
      if (held.length === 0) continue;
      room -= held.length;
      for (const { metadata } of held) attempts.delete(metadata.uid);
      woken.push(name);
    }
    return woken;
  }

  #request(node: Node): DrainRequest | undefined {
    try {
      return drainRequestOf(node);
    } catch (error) {
      if (!(error instanceof DrainRequestError)) throw error;
      this.#context.recorder.event(node, 'Warning', ConfigEvents.DrainRequestInvalid, error.message);
      return undefined;
    }
  }

  async #uncordon(node: Node, { value }: DrainRequest): Promise<Outcome> {
    const { mayUncordon = () => true } = this.#options;
    // The write has the observed version as a precondition, because mcm may start or end a drain of the node at the
    // same time.
    if (isEmptiedByMcm(node)) {
      await this.#answer(node, value, node.metadata.resourceVersion);
      return done;
    }
    if (node.spec?.unschedulable && mayUncordon(node)) await this.#cordon(node, false, node.metadata.resourceVersion);
    await this.#answer(node, value);
    return done;
  }

  async #drain(node: Node, request: DrainRequest, signal: AbortSignal): Promise<Outcome> {
    const { clock, recorder } = this.#context;
    const { name } = node.metadata;
    let state = this.#underWay.get(name);
    // If another client has uncordoned the node, the drain starts again, because new pods may run on the node.
    const begun = state?.value === request.value && node.spec?.unschedulable === true;
    if (!begun || !state) {
      state = { value: request.value, since: clock.monotonic(), attempts: new Map(), reported: 'nothing' };
      this.#underWay.set(name, state);
    }
    // A request of a former process may arrive late, when the node is already uncordoned.
    if (!node.spec?.unschedulable) await this.#cordon(node, true, node.metadata.resourceVersion);
    const pods = podsOfNode(this.#options.pods, name);
    const now = clock.now();
    const plan = planDrain(observeNode(name, pods, state.attempts), now);
    if (plan.drained) return this.#finish(name, request);
    await this.#evict(node, plan.evict, { attempts: state.attempts, at: now, signal });
    const left = [...plan.leaving, ...plan.evict].map((pod) => `${pod.namespace}/${pod.name}`).slice(0, 3);
    const news = slowDrainEvent(state, clock.monotonic());
    if (news)
      recorder.event(
        node,
        'Warning',
        news,
        `Drain of node ${name} is not complete; remaining pods: ${left.join(', ')}`,
      );
    const latest = Math.min(plan.lookAgainAt?.getTime() ?? Number.POSITIVE_INFINITY, now.getTime() + LOOK_AGAIN_MS);
    return again(Math.max(latest - now.getTime(), 1_000));
  }

  /** Without an eviction API, the controller respects the cached budgets, and an event names the deleted pods. */
  async #evict(node: Node, going: readonly DrainPod[], options: Omit<EvictOptions, 'mayDelete'>): Promise<void> {
    const { client, target = client, recorder } = this.#context;
    const { pods, budgets } = this.#options;
    const mayDelete = ({ namespace, name }: DrainPod): boolean => {
      const pod = pods.store.get(makeKey(namespace, name));
      return pod !== undefined && this.#room.take(pod, budgets?.store.list() ?? []);
    };
    const deleted = await evict(target, going, { ...options, mayDelete });
    if (deleted.length === 0) return;
    const names = deleted.map(({ namespace, name }) => `${namespace}/${name}`);
    const shown = names.slice(0, PODS_NAMED).join(', ');
    const more = names.length > PODS_NAMED ? ` and ${names.length - PODS_NAMED} more` : '';
    const message = `Deleted because the API server has no eviction API: ${shown}${more}`;
    recorder.event(node, 'Warning', ConfigEvents.EvictionUnavailable, message);
  }

  async #finish(name: string, { value }: DrainRequest): Promise<Outcome> {
    const { client, target = client, caches } = this.#context;
    const node = await ignoreNotFound(target.resource(nodes).get(name));
    if (!node) return done;
    caches.nodes.recordWrite(node);
    if (!node.spec?.unschedulable) return again(1_000);
    if (annotationOf(node, NodeAnnotations.DesiredDrain) !== value) return again(0);
    await this.#answer(node, value);
    this.#underWay.delete(name);
    return done;
  }

  async #cordon({ metadata: { name, uid } }: Node, unschedulable: boolean, resourceVersion?: string): Promise<void> {
    const { client, target = client, caches } = this.#context;
    const body = {
      metadata: { uid, resourceVersion },
      spec: { unschedulable },
    };
    const answer = await ignoreNotFound(target.resource(nodes).patch(name, { type: 'strategic', body }));
    if (answer) caches.nodes.recordWrite(answer);
  }

  async #answer({ metadata: { name, uid } }: Node, value: string, resourceVersion?: string): Promise<void> {
    const { client, target = client, caches } = this.#context;
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    const body = { metadata: { uid, ...version, annotations: { [NodeAnnotations.LastAppliedDrain]: value } } };
    const answer = await ignoreNotFound(target.resource(nodes).patch(name, { type: 'merge', body }));
    if (answer) caches.nodes.recordWrite(answer);
  }
}

/** Returns true if mcm has drained the node, for example for an in-place update, and uncordons it itself. */
const isEmptiedByMcm = ({ metadata: { labels, annotations } }: Node): boolean =>
  labels?.[Labels.CandidateForUpdate] !== undefined &&
  (labels[Labels.SelectedForUpdate] !== undefined || annotations?.[Annotations.SelectedForTemplate] !== undefined);

/** The controller sends the event about a slow drain only once. */
function slowDrainEvent(state: UnderWay, now: number): ConfigEvent | undefined {
  const age = now - state.since;
  if (age >= FAILED_MS && state.reported !== 'failed') {
    state.reported = 'failed';
    return ConfigEvents.DrainFailed;
  }
  if (age < SLOW_MS || state.reported !== 'nothing') return undefined;
  state.reported = 'slow';
  return ConfigEvents.DrainThresholdExceeded;
}
