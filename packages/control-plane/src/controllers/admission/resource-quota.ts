import { counts } from '../../admission/quota/scopes.ts';
import { sumOf, usageOf } from '../../admission/quota/usage.ts';
import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import { amountsOf, showAmount } from '../../apimachinery/objects/amounts.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { PODS, pathOf, type Resource } from '../client/resources.ts';
import { namespaceOf, phaseOf } from '../objects/fields.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const QUOTAS: Resource = { group: '', version: 'v1', plural: 'resourcequotas', namespaced: true };

/**
 * The interval between two counts. If a create request fails after its quota check, the usage is too high until the
 * next count.
 */
const RESYNC_MS = 5 * 60 * 1000;

/**
 * Returns the resource that a quota name limits: `deployments.apps` for `count/deployments.apps`, or `pods` for
 * `requests.cpu`.
 */
function countedBy(name: string): string {
  if (name.startsWith('count/')) return name.slice('count/'.length);
  if (name.startsWith('services')) return 'services';
  if (name.endsWith('requests.storage') || name.endsWith('persistentvolumeclaims')) return 'persistentvolumeclaims';
  return ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'].includes(name) ? name : 'pods';
}

function setup({ api, directory, informer, metadataInformer, queue }: ControllerContext): void {
  const quotas = informer(QUOTAS);
  const pods = informer(PODS);
  const watched = new Set<string>();

  const use = async (quota: ApiObject, names: readonly string[]): Promise<Record<string, string>> => {
    const counted = new Set(names.map(countedBy));
    const resources = directory.deletable().filter((resource) => counted.has(qualifiedResource(resource)));
    const lists = await Promise.all(
      resources.map(async (resource) => {
        const { group, plural } = resource;
        const { items } = await api.call<{ items: ApiObject[] }>(pathOf(resource, { namespace: namespaceOf(quota) }));
        const mine = items.filter((object) => counts(quota, group, plural, object));
        return mine.map((object) => usageOf(group, plural, object));
      }),
    );
    const sum = sumOf(lists.flat());
    return Object.fromEntries(names.map((name) => [name, showAmount(sum.get(name))]));
  };

  const work = queue(async (key) => {
    if (quotas.get(key) === undefined) return;
    work.addAfter(key, RESYNC_MS);
    // The controller reads the quota before it counts. If a client changes the quota during the count, the write fails
    // with a conflict.
    const quota = await allowing(api.get(QUOTAS, splitKey(key)), 404);
    if (quota === undefined) return;
    const hard = Object.fromEntries(
      [...amountsOf(look(quota, 'spec', 'hard'))].map(([name, quantity]) => [name, showAmount(quantity)]),
    );
    const used = await use(quota, Object.keys(hard));
    const status = { hard, used };
    if (jsonEquals(status, quota['status'])) return;
    await allowing(api.update(QUOTAS, { ...quota, status }, 'status'), 404);
    // If `hard` has changed, clients may have created objects during the first count, so the controller counts again.
    if (!jsonEquals(hard, look(quota, 'status', 'hard'))) work.add(key);
  });

  const recount = (namespace: string): void => {
    if (quotas.size === 0) return;
    for (const quota of quotas.all()) if (namespaceOf(quota) === namespace) work.add(keyOf(quota));
  };
  quotas.onChange(({ type, object, old }) => {
    const fresh = type !== 'deleted' && !jsonEquals(object['spec'], old?.['spec']);
    if (fresh) work.add(keyOf(object));
  });
  pods.onChange(({ type, object, old }) => {
    if (type === 'updated' && phaseOf(object) !== (old && phaseOf(old))) recount(namespaceOf(object));
  });
  directory.onChange(() => {
    const served = new Set(directory.deletable().map(qualifiedResource));
    for (const key of watched) if (!served.has(key)) watched.delete(key);
    for (const resource of directory.deletable()) {
      const key = qualifiedResource(resource);
      if (!resource.namespaced || watched.has(key) || resource.group === 'events.k8s.io') continue;
      watched.add(key);
      metadataInformer(resource).onChange(({ type, object }) => {
        if (type === 'deleted') recount(namespaceOf(object));
      });
    }
  });
}

/** @see kubernetes pkg/controller/resourcequota */
export const resourceQuotaController: Controller = { name: 'resourcequota', setup };
