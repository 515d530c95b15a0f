import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, type Plain } from '../../apimachinery/objects/plain.ts';
import { type LabelSelector, selectorOf } from '../../selectors/label-selector.ts';
import { type Api, allowing } from '../client/api.ts';
import { BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS } from '../client/resources.ts';
import type { Recorder } from '../events/events.ts';
import { isDying, isReady, namespaceOf } from '../objects/fields.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { type BudgetCount, countBudget, failedPatch, needsScale, statusPatch } from './count.ts';
import { ScaleFinder, type TotalScale, UncountableBudget } from './scale.ts';
import { clearAt, clearedConditions } from './stale.ts';
import { budgetTerms, podTerms } from './terms.ts';
import { tooManyMessage, unmanagedMessage } from './words.ts';

const COMPONENT = 'controllermanager';

const selectors = new WeakMap<ApiObject, LabelSelector>();

/** Returns whether the selector of a budget matches a pod. */
function selects(budget: ApiObject, pod: ApiObject): boolean {
  let selector = selectors.get(budget);
  if (selector === undefined) {
    selector = selectorOf(look(budget, 'spec').selector as Parameters<typeof selectorOf>[0]);
    selectors.set(budget, selector);
  }
  return selector(pod.metadata.labels ?? {});
}

/** Returns whether a change of a pod leaves the counts of all disruption budgets unchanged. */
const countsAlike = (pod: ApiObject, old: ApiObject): boolean =>
  isReady(pod) === isReady(old) &&
  isDying(pod) === isDying(old) &&
  JSON.stringify(pod.metadata.labels) === JSON.stringify(old.metadata.labels) &&
  JSON.stringify(pod.metadata.ownerReferences) === JSON.stringify(old.metadata.ownerReferences);

class BudgetKeeper {
  readonly #api: Api;
  readonly #tell: Recorder;
  readonly #scales: ScaleFinder;

  constructor(api: Api, tell: Recorder, scales: ScaleFinder) {
    this.#api = api;
    this.#tell = tell;
    this.#scales = scales;
  }

  /** Writes the status of a budget. */
  async sync(budget: ApiObject, matching: readonly ApiObject[], now: Date): Promise<Date | undefined> {
    if (matching.length === 0) this.#tell(budget, 'Normal', 'NoPods', 'No matching pods found');
    let scale: TotalScale | undefined;
    try {
      scale = await this.#scaleFor(budget, matching);
    } catch (error) {
      if (!(error instanceof UncountableBudget)) throw error;
      const message = `Failed to calculate the number of expected pods: ${error.message}`;
      this.#tell(budget, 'Warning', 'CalculateExpectedPodCountFailed', message);
      await this.#write(budget, failedPatch(budget, error.message, now));
      return undefined;
    }
    const count = countBudget({ budget, pods: matching, scale: scale?.total, now });
    this.#reportOverdue(budget, count);
    await this.#write(budget, statusPatch(budget, count, now));
    return count.lookAgainAt;
  }

  async #write(budget: ApiObject, status: Plain | undefined): Promise<void> {
    if (status === undefined) return;
    const { namespace, name, resourceVersion } = budget.metadata;
    const patch = { metadata: { resourceVersion }, status };
    await allowing(this.#api.patch(BUDGETS, { namespace, name, subresource: 'status' }, patch), 404, 409);
  }

  async #scaleFor(budget: ApiObject, matching: readonly ApiObject[]): Promise<TotalScale | undefined> {
    if (!needsScale(budget)) return undefined;
    const scale = await this.#scales.total(matching);
    if (scale.unmanaged) {
      this.#tell(budget, 'Warning', 'UnmanagedPods', unmanagedMessage(look(budget, 'spec').selector));
    }
    return scale;
  }

  #reportOverdue({ metadata: { namespace } }: ApiObject, { overdue }: BudgetCount): void {
    for (const pod of overdue) {
      const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
      this.#tell(pod, 'Warning', 'NotDeleted', message);
    }
  }
}

function setup({ api, clock, directory, informer, queue, recorder }: ControllerContext): void {
  const tell = recorder(COMPONENT);
  const budgets = informer(BUDGETS);
  const pods = informer(PODS);
  const workloads = [informer(REPLICA_SETS), informer(DEPLOYMENTS), informer(STATEFUL_SETS)] as const;
  const [replicaSets, deployments, statefulSets] = workloads;
  const scales = new ScaleFinder(api, directory, { replicaSets, deployments, statefulSets });
  const podsUnder = pods.index(podTerms);
  const budgetsUnder = budgets.index(budgetTerms);
  const scaledIn = budgets.index((budget) => (needsScale(budget) ? [namespaceOf(budget)] : []));

  const keeper = new BudgetKeeper(api, tell, scales);

  const work = queue(async (key) => {
    const budget = budgets.get(key);
    if (budget === undefined || isDying(budget)) return;
    // Each pod occurs at most once in `matching`, because a pod has only one value for each label.
    const matching = budgetTerms(budget)
      .flatMap(podsUnder)
      .filter((pod) => selects(budget, pod));
    const lookAgainAt = await keeper.sync(budget, matching, clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
  });

  const staleWork = queue(async (key) => {
    const pod = pods.get(key);
    const at = pod === undefined ? undefined : clearAt(pod);
    if (pod === undefined || at === undefined) return;
    if (at > clock.now()) return staleWork.addAt(key, at);
    const conditions = clearedConditions(pod, clock.now());
    const { resourceVersion } = pod.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    await allowing(api.patch(PODS, { ...splitKey(key), subresource: 'status' }, patch), 404, 409);
  });

  const enqueueMatching = (pod: ApiObject): void => {
    const matching = podTerms(pod)
      .flatMap(budgetsUnder)
      .filter((budget) => selects(budget, pod));
    for (const budget of matching) work.add(keyOf(budget));
    if (matching.length > 1) tell(pod, 'Warning', 'MultiplePodDisruptionBudgets', tooManyMessage(pod, matching));
  };
  budgets.onChange(({ object }) => work.add(keyOf(object)));
  pods.onChange(({ type, object, old }) => {
    if (type !== 'deleted' && clearAt(object) !== undefined) staleWork.add(keyOf(object));
    if (type === 'updated' && old !== undefined) {
      if (countsAlike(object, old)) return;
      enqueueMatching(old);
    }
    enqueueMatching(object);
  });
  for (const cache of workloads) {
    cache.onChange(({ object, old }) => {
      if (look(object, 'spec').replicas === look(old, 'spec').replicas) return;
      for (const budget of scaledIn(namespaceOf(object))) work.add(keyOf(budget));
    });
  }
}

/**
 * Writes the status of disruption budgets, and removes the disruption condition of pods whose deletion did not start.
 * @see kubernetes pkg/controller/disruption
 */
export const disruption: Controller = { name: 'disruption', setup };
