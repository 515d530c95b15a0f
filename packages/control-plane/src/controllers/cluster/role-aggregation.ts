import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look } from '../../apimachinery/objects/plain.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { allowing } from '../client/api.ts';
import { CLUSTER_ROLES } from '../client/resources.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

type SelectorSpec = Parameters<typeof selectorOf>[0];

/** Returns the rules of an aggregated ClusterRole without duplicates, in the order of the role names. */
function aggregatedRules(role: ApiObject, roles: readonly ApiObject[]): unknown[] {
  const rules: unknown[] = [];
  const byName = [...roles].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  for (const selector of items(look(role, 'aggregationRule'), 'clusterRoleSelectors')) {
    const selects = selectorOf(selector as SelectorSpec);
    for (const other of byName) {
      if (other.metadata.name === role.metadata.name || !selects(other.metadata.labels ?? {})) continue;
      for (const rule of items(other, 'rules')) if (!rules.some((known) => jsonEquals(known, rule))) rules.push(rule);
    }
  }
  return rules;
}

function setup({ api, informer, queue }: ControllerContext): void {
  const roles = informer(CLUSTER_ROLES);
  const work = queue(async (name) => {
    const role = roles.get(name);
    if (role === undefined || role.aggregationRule === undefined) return;
    const rules = aggregatedRules(role, [...roles.all()]);
    if (jsonEquals(rules, items(role, 'rules'))) return;
    const applied = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules };
    await allowing(api.apply(CLUSTER_ROLES, applied, 'clusterrole-aggregation-controller'), 404);
  });
  roles.onChange(() => {
    for (const role of roles.all()) if (role.aggregationRule !== undefined) work.add(role.metadata.name ?? '');
  });
}

/** @see kubernetes pkg/controller/clusterroleaggregation */
export const roleAggregation: Controller = { name: 'clusterrole-aggregation', setup };
