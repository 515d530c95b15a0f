import type { Access, Verdict } from '../apimachinery/users/authorizer.ts';
import type { Store } from '../store/store.ts';
import { type PolicyRule, ruleAllows } from './rbac/rules.ts';

const PREFIX = 'system:node:';
const NODES = 'system:nodes';
const NO: Verdict = { allowed: false, reason: '' };
const YES: Verdict = { allowed: true, reason: '' };
const refuse = (reason: string): Verdict => ({ allowed: false, reason });

/** The rules of the node role. Every node has these permissions for all objects of a resource. */
const NODE_RULES: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['localsubjectaccessreviews', 'subjectaccessreviews'],
    verbs: ['create'],
  },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests'],
    verbs: ['create', 'get', 'list', 'watch'],
  },
  { apiGroups: ['storage.k8s.io'], resources: ['csidrivers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['get', 'list', 'watch'] },
];

const NODE_FIELD = 'spec.nodeName';

type Related = (access: Access) => Verdict;

interface NodeAccess extends Access {
  readonly node: string;
  readonly related: Related;
}

/** A node may get an object only if a pod of the node refers to the object, as in `authorizeGet` of Kubernetes. */
function mayGet(access: NodeAccess): Verdict {
  if (access.verb !== 'get' || access.name === '') return refuse('can only get individual resources of this type');
  return access.subresource === '' ? access.related(access) : refuse('cannot get subresource');
}

/**
 * A node may read an object only if one of its pods refers to the object, as in `authorizeReadNamespacedObject` of
 * Kubernetes.
 */
function mayRead(access: NodeAccess): Verdict {
  if (!READS.has(access.verb)) return refuse('can only read resources of this type');
  if (access.subresource !== '') return refuse('cannot read subresource');
  return access.namespace === '' ? refuse('can only read namespaced object of this type') : access.related(access);
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const OWN_VERBS: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

function claims(access: NodeAccess): Verdict {
  if (access.subresource !== 'status') return mayGet(access);
  if (access.verb === 'get' || access.verb === 'update' || access.verb === 'patch') return access.related(access);
  return refuse('can only get/update/patch this type');
}

function serviceAccounts(access: NodeAccess): Verdict {
  const { verb, subresource } = access;
  const isRead = verb === 'get' && subresource === '';
  const isToken = verb === 'create' && subresource === 'token';
  return isRead || isToken ? access.related(access) : refuse('can only create tokens for individual service accounts');
}

function leases({ node, verb, namespace, name }: NodeAccess): Verdict {
  if (!OWN_VERBS.has(verb)) return refuse('can only get, create, update, patch, or delete a node lease');
  if (namespace !== 'kube-node-lease')
    return refuse('can only access leases in the "kube-node-lease" system namespace');
  if (verb === 'create' || name === node) return YES;
  return refuse('can only access node lease with the same name as the requesting node');
}

function csiNodes({ node, verb, subresource, name }: NodeAccess): Verdict {
  if (subresource !== '') return refuse('cannot authorize CSINode subresources');
  if (!OWN_VERBS.has(verb)) return refuse('can only get, create, update, patch, or delete a CSINode');
  if (verb === 'create' || name === node) return YES;
  return refuse('can only access CSINode with the same name as the requesting node');
}

/** A node may access only its own Node. For writes, the admission plugin NodeRestriction checks the name. */
function nodes({ node, verb, subresource, name }: NodeAccess): Verdict {
  const isWrite = verb === 'update' || verb === 'patch';
  if (subresource === 'status') return isWrite ? YES : NO;
  if (subresource !== '') return NO;
  if (isWrite || verb === 'create') return YES;
  if (!READS.has(verb)) return NO;
  if (name === node) return YES;
  const whose = name === '' ? 'all nodes' : `'${name}'`;
  return refuse(`node '${node}' cannot read ${whose}, only its own Node object`);
}

/** A node may access only its own pods. For writes, the admission plugin NodeRestriction checks the node of the pod. */
function pods(access: NodeAccess): Verdict {
  const { node, verb, subresource, name, fields = [] } = access;
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? YES : NO;
  if (subresource === 'eviction') return verb === 'create' ? YES : NO;
  if (subresource !== '') return NO;
  if (verb === 'create' || verb === 'delete') return YES;
  if (!READS.has(verb)) return NO;
  if (verb !== 'get') {
    if (fields.some(({ field, equal, value }) => field === NODE_FIELD && equal && value === node)) return YES;
    if (name === '') return refuse('can only list/watch pods with spec.nodeName field selector');
  }
  return access.related(access);
}

const DIVIDED: Readonly<Record<string, (access: NodeAccess) => Verdict>> = {
  '/secrets': mayRead,
  '/configmaps': mayRead,
  '/persistentvolumeclaims': claims,
  '/persistentvolumes': mayGet,
  '/serviceaccounts': serviceAccounts,
  '/nodes': nodes,
  '/pods': pods,
  'storage.k8s.io/volumeattachments': mayGet,
  'storage.k8s.io/csinodes': csiNodes,
  'coordination.k8s.io/leases': leases,
};

/** Decides whether a node may access a resource. */
export function nodeVerdict(store: Store, access: Access): Verdict | undefined {
  const { user, group, resource, path } = access;
  if (!user.name.startsWith(PREFIX) || !user.groups.includes(NODES) || path !== '') return undefined;
  const node = user.name.slice(PREFIX.length);
  const id = `${group}/${resource}`;
  const divided = DIVIDED[id];
  if (divided === undefined) return NODE_RULES.some((rule) => ruleAllows(rule, access)) ? YES : NO;
  const related: Related = ({ namespace, name }) => {
    if (name === '') return refuse('No Object name found');
    if (isRelated(store, node, id, namespace, name)) return YES;
    return refuse(`no relationship found between node '${node}' and this object`);
  };
  return divided({ ...access, node, related });
}

function isRelated(store: Store, node: string, id: string, namespace: string, name: string): boolean {
  if (id === 'storage.k8s.io/volumeattachments') {
    const record = store.get(id, '', name);
    return record?.json.includes(`"nodeName":${JSON.stringify(node)}`) ?? false;
  }
  if (id === '/pods') return store.get(id, namespace, name)?.fields?.[NODE_FIELD] === node;
  const within = namespace === '' ? undefined : namespace;
  const pods = store.list('/pods', { namespace: within, where: [{ field: NODE_FIELD, value: node }] }).records;
  const quoted = JSON.stringify(name);
  const claim = id === '/persistentvolumes' ? claimOf(store, name) : undefined;
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

function claimOf(store: Store, volume: string): { namespace: string; name: string } | undefined {
  const record = store.get('/persistentvolumes', '', volume);
  if (record === undefined) return undefined;
  const { spec } = JSON.parse(record.json) as { spec?: { claimRef?: { namespace: string; name: string } } };
  return spec?.claimRef;
}
