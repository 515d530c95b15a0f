import { look } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { type LabelSelector, selectorOf } from '../../registry/label-selector.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { isDying, isReady, namespaceOf } from '../runtime/objects.ts';
import { BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS } from '../runtime/resources.ts';
import { countBudget, needsScale, statusPatch } from './count.ts';
import { ScaleFinder } from './scale.ts';
import { budgetTerms, podTerms } from './terms.ts';

const selectors = new WeakMap<ApiObject, LabelSelector>();

/** A budget's selector, compiled once a version. */
function selects(budget: ApiObject, pod: ApiObject): boolean {
  let selector = selectors.get(budget);
  if (selector === undefined) {
    selector = selectorOf(look(budget, 'spec').selector as Parameters<typeof selectorOf>[0]);
    selectors.set(budget, selector);
  }
  return selector(pod.metadata.labels ?? {});
}

/** Whether a pod's change can change a count. */
const countsAlike = (pod: ApiObject, old: ApiObject): boolean =>
  isReady(pod) === isReady(old) &&
  isDying(pod) === isDying(old) &&
  JSON.stringify(pod.metadata.labels) === JSON.stringify(old.metadata.labels) &&
  JSON.stringify(pod.metadata.ownerReferences) === JSON.stringify(old.metadata.ownerReferences);

function setup({ api, clock, directory, informer, queue }: ControllerContext): void {
  const budgets = informer(BUDGETS);
  const pods = informer(PODS);
  const workloads = [informer(REPLICA_SETS), informer(DEPLOYMENTS), informer(STATEFUL_SETS)] as const;
  const [replicaSets, deployments, statefulSets] = workloads;
  const scales = new ScaleFinder(api, directory, { replicaSets, deployments, statefulSets });
  const podsUnder = pods.index(podTerms);
  const budgetsUnder = budgets.index(budgetTerms);
  const scaledIn = budgets.index((budget) => (needsScale(budget) ? [namespaceOf(budget)] : []));

  const sync = async (key: string): Promise<void> => {
    const budget = budgets.get(key);
    if (budget === undefined || isDying(budget)) return;
    const { namespace, name } = splitKey(key);
    // A pod carries one value of a label, so it is under one of the terms only.
    const matching = budgetTerms(budget)
      .flatMap(podsUnder)
      .filter((pod) => selects(budget, pod));
    const scale = needsScale(budget) ? await scales.total(matching) : undefined;
    const now = clock.now();
    const count = countBudget({ budget, pods: matching, scale, now });
    const status = statusPatch(budget, count, now);
    if (count.lookAgainAt !== undefined) work.addAt(key, count.lookAgainAt);
    if (status === undefined) return;
    const { resourceVersion } = budget.metadata;
    // A conflict means that the budget has changed: its event brings it back here.
    await allowing(
      api.patch(BUDGETS, { namespace, name, subresource: 'status' }, { metadata: { resourceVersion }, status }),
      404,
      409,
    );
  };
  const work = queue(sync);

  const enqueueMatching = (pod: ApiObject): void => {
    for (const budget of podTerms(pod).flatMap(budgetsUnder)) if (selects(budget, pod)) work.add(keyOf(budget));
  };
  budgets.onChange(({ object }) => work.add(keyOf(object)));
  pods.onChange(({ type, object, old }) => {
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
 * Keeps the status of PodDisruptionBudgets.
 * @see kubernetes pkg/controller/disruption
 */
export const disruption: Controller = { name: 'disruption', setup };
