import type { Registry } from '../registry/registry.ts';
import type { Access, Verdict } from './authorizer.ts';
import { type PolicyRule, ruleAllows } from './rbac/rules.ts';

const PREFIX = 'system:node:';
const NODES = 'system:nodes';
const NO: Verdict = { allowed: false, reason: '' };
const YES: Verdict = { allowed: true, reason: '' };
const refuse = (reason: string): Verdict => ({ allowed: false, reason });

/** What every node may do that asks for no relation between it and an object (the node role). */
export const NODE_RULES: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['localsubjectaccessreviews', 'subjectaccessreviews'],
    verbs: ['create'],
  },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['create', 'get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['nodes', 'nodes/status'], verbs: ['patch', 'update'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
  { apiGroups: [''], resources: ['pods/status'], verbs: ['patch', 'update'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['get', 'patch', 'update'] },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests'],
    verbs: ['create', 'get', 'list', 'watch'],
  },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csinodes'],
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
  },
  { apiGroups: ['storage.k8s.io'], resources: ['csidrivers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['get', 'list', 'watch'] },
];

/** Objects that a node may read only when one of its pods needs them. */
const RELATED: ReadonlySet<string> = new Set([
  '/secrets',
  '/configmaps',
  '/persistentvolumeclaims',
  '/persistentvolumes',
  'storage.k8s.io/volumeattachments',
]);

/** The pods' field that is selectable, so that the pods of a node are found without parsing all. */
const NODE_FIELD = 'spec.nodeName';

/** Decides for kubelets what depends on their node; everything else is left to the others by `undefined`. */
export function nodeVerdict(registry: Registry, access: Access): Verdict | undefined {
  const { user, verb, group, resource, subresource, name, namespace, path } = access;
  if (!user.name.startsWith(PREFIX) || !user.groups.includes(NODES) || path !== '') return undefined;
  const node = user.name.slice(PREFIX.length);
  const id = `${group}/${resource}`;
  if (RELATED.has(id) && !(id === '/persistentvolumeclaims' && subresource === 'status')) {
    if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return refuse('can only read resources of this type');
    if (subresource !== '') return refuse('cannot read subresource');
    if (name === '') return refuse('No Object name found');
    return isRelated(registry, node, id, namespace, name)
      ? YES
      : refuse(`no relationship found between node '${node}' and this object`);
  }
  if (id === '/serviceaccounts') {
    if (verb !== 'create' || subresource !== 'token')
      return refuse('can only create tokens for individual service accounts');
    return isRelated(registry, node, id, namespace, name)
      ? YES
      : refuse(`no relationship found between node '${node}' and this object`);
  }
  if (id === '/nodes' && verb === 'get' && subresource === '' && name !== node) {
    return refuse(`node '${node}' cannot read '${name}', only its own Node object`);
  }
  if (id === '/nodes' && (verb === 'patch' || verb === 'update') && name !== node) {
    return refuse(`node '${node}' is not allowed to modify node '${name}'`);
  }
  if (id === 'coordination.k8s.io/leases') {
    if (namespace !== 'kube-node-lease') {
      return refuse('can only access leases in the "kube-node-lease" system namespace');
    }
    if (verb !== 'create' && name !== node) {
      return refuse('can only access node lease with the same name as the requesting node');
    }
  }
  if (id === 'storage.k8s.io/csinodes' && verb !== 'create' && name !== node) {
    return refuse('can only access CSINode with the same name as the requesting node');
  }
  return NODE_RULES.some((rule) => ruleAllows(rule, access)) ? YES : NO;
}

/** Whether a pod of the node names the object. */
function isRelated(registry: Registry, node: string, id: string, namespace: string, name: string): boolean {
  if (id === 'storage.k8s.io/volumeattachments') {
    const record = registry.store.get(id, '', name);
    return record?.json.includes(`"nodeName":${JSON.stringify(node)}`) ?? false;
  }
  const within = namespace === '' ? undefined : namespace;
  const pods = registry.store.list('/pods', { namespace: within, where: [{ field: NODE_FIELD, value: node }] }).records;
  const quoted = JSON.stringify(name);
  const claim = id === '/persistentvolumes' ? claimOf(registry, name) : undefined;
  return pods.some(({ json, namespace: podNamespace }) => {
    if (id === '/secrets') return json.includes(`"secretName":${quoted}`) || json.includes(`"name":${quoted}`);
    if (id === '/configmaps') return json.includes(`"name":${quoted}`);
    if (id === '/persistentvolumeclaims') return json.includes(`"claimName":${quoted}`);
    if (id === '/serviceaccounts') return json.includes(`"serviceAccountName":${quoted}`);
    return (
      claim !== undefined &&
      claim.namespace === podNamespace &&
      json.includes(`"claimName":${JSON.stringify(claim.name)}`)
    );
  });
}

function claimOf(registry: Registry, volume: string): { namespace: string; name: string } | undefined {
  const record = registry.store.get('/persistentvolumes', '', volume);
  if (record === undefined) return undefined;
  const { spec } = JSON.parse(record.json) as { spec?: { claimRef?: { namespace: string; name: string } } };
  return spec?.claimRef;
}
