import { forbidden } from '../../apimachinery/errors/errors.ts';
import { type Amounts, amountsOf, isMore, showAmount } from '../../apimachinery/objects/amounts.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { putStatus } from '../../registry/writes/create.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { Words } from '../../store/word-index.ts';
import { counts } from './scopes.ts';
import { sumOf, usageOf } from './usage.ts';

const QUOTAS = '/resourcequotas';
/** The keys for which each container must set a request or limit, if a quota limits the key. */
const COMPUTE: Readonly<Record<string, readonly ['requests' | 'limits', string]>> = {
  cpu: ['requests', 'cpu'],
  memory: ['requests', 'memory'],
  'requests.cpu': ['requests', 'cpu'],
  'requests.memory': ['requests', 'memory'],
  'limits.cpu': ['limits', 'cpu'],
  'limits.memory': ['limits', 'memory'],
};
const UPDATABLE = new Set(['/pods', '/services', '/persistentvolumeclaims']);

const listed = (amounts: Amounts, names: readonly string[]): string =>
  names.map((name) => `${name}=${showAmount(amounts.get(name))}`).join(',');

/** Returns the additional usage of a request. */
function increaseOf({ operation, object, old, served: { kind } }: AdmissionAttributes): Amounts {
  if (object === undefined) return new Map();
  const usage = usageOf(kind.group, kind.plural, object);
  if (operation === 'CREATE' || old === undefined) return usage;
  const before = usageOf(kind.group, kind.plural, old);
  for (const [name, quantity] of usage) {
    const nanos = quantity.nanos - (before.get(name)?.nanos ?? 0n);
    if (nanos <= 0n) usage.delete(name);
    else usage.set(name, { ...quantity, nanos });
  }
  return usage;
}

/**
 * Returns the requests and limits that a quota requires but the containers lack, such as `cpu for: a,b; limits.memory
 * for: a`.
 */
function unsaid(pod: ApiObject, hard: Amounts): string {
  const spec = look(pod, 'spec');
  const containers: Plain[] = [...items(spec, 'containers'), ...items(spec, 'initContainers')];
  const missing: string[] = [];
  for (const name of [...hard.keys()].sort()) {
    const needed = Object.hasOwn(COMPUTE, name) ? COMPUTE[name] : undefined;
    if (needed === undefined) continue;
    const [field, resource] = needed;
    const silent = containers.filter((container) => !Object.hasOwn(look(container, 'resources', field), resource));
    if (silent.length > 0) missing.push(`${name} for: ${silent.map((container) => text(container, 'name')).join(',')}`);
  }
  return missing.join('; ');
}

const BY_RESOURCE: Words = {
  of: ({ namespace, json }) => {
    const hard = Object.keys(look(JSON.parse(json) as ApiObject, 'status', 'hard'));
    return [hard.map((resource) => `${namespace}/${resource}`)];
  },
};

const limiting = ({ store }: Registry, namespace: string, resources: Iterable<string>): readonly StoredRecord[] =>
  store
    .find(QUOTAS, BY_RESOURCE, new Set([...resources].map((resource) => `${namespace}/${resource}`)))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/**
 * Adds the usage of a request to all quotas of its namespace, or to none if the usage exceeds one quota.
 * @throws StatusError 403
 */
function charge(registry: Registry, attributes: AdmissionAttributes): void {
  const { served, namespace, name, object, dryRun, operation } = attributes;
  const { group, plural } = served.kind;
  const quotaKind = registry.kinds.find('', 'v1', 'resourcequotas');
  if (object === undefined || quotaKind === undefined) return;
  const increase = increaseOf(attributes);
  if (increase.size === 0) return;
  const asksForMore = served.resource === '/pods' && operation === 'CREATE';
  const records = limiting(registry, namespace, [...increase.keys(), ...(asksForMore ? Object.keys(COMPUTE) : [])]);
  const charged: { quota: ApiObject; status: Plain }[] = [];
  for (const record of records) {
    const quota = registry.parse(quotaKind, record);
    if (!counts(quota, group, plural, object)) continue;
    const status = look(quota, 'status');
    const hard = amountsOf(look(status, 'hard'));
    const used = amountsOf(look(status, 'used'));
    const names = [...increase.keys()].filter((resource) => hard.has(resource)).sort();
    if (asksForMore) {
      const silent = unsaid(object, hard);
      if (silent !== '') throw forbidden(served.kind, name, `failed quota: ${record.name}: must specify ${silent}`);
    }
    if (names.length === 0) continue;
    const unknown = names.filter((resource) => !used.has(resource));
    if (unknown.length > 0) {
      throw forbidden(served.kind, name, `status unknown for quota: ${record.name}, resources: ${unknown.join(',')}`);
    }
    const wanted: Amounts = new Map([...increase].filter(([resource]) => hard.has(resource)));
    const after = sumOf([used, wanted]);
    const exceeded = names.filter((resource) => {
      const [total, limit] = [after.get(resource), hard.get(resource)];
      return total !== undefined && limit !== undefined && isMore(total, limit);
    });
    if (exceeded.length > 0) {
      const why = `exceeded quota: ${record.name}, requested: ${listed(wanted, exceeded)}, used: ${listed(used, exceeded)}, limited: ${listed(hard, exceeded)}`;
      throw forbidden(served.kind, name, why);
    }
    charged.push({ quota, status: { ...status, used: { ...look(status, 'used'), ...shown(after, names) } } });
  }
  // No `await` separates the read of the quotas from this write, so no other request can change the quotas in between.
  if (!dryRun) for (const { quota, status } of charged) putStatus(registry, quotaKind, quota, status);
}

const shown = (amounts: Amounts, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, showAmount(amounts.get(name))]));

/**
 * ResourceQuota adds the usage of a request to the quotas. ResourceQuota is the last plugin, so it does not count a
 * request that another plugin refuses.
 */
export const resourceQuota = (registry: Registry): AdmissionPlugin => ({
  name: 'ResourceQuota',
  validate(attributes) {
    const { served, subresource, operation } = attributes;
    if (registry.store.count(QUOTAS) === 0 || !served.kind.namespaced || subresource !== '') return undefined;
    if (operation === 'CREATE' || (operation === 'UPDATE' && UPDATABLE.has(served.resource))) {
      charge(registry, attributes);
    }
    return undefined;
  },
});
