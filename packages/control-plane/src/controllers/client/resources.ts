import type { KindDefinition } from '../../apimachinery/objects/kind.ts';

export type Resource = Pick<KindDefinition, 'group' | 'version' | 'plural' | 'namespaced'>;

/** For a cluster-scoped object, the namespace is ''. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Returns the path of an object, such as `/apis/apps/v1/namespaces/ns/deployments/web/status`. */
export function pathOf(resource: Resource, { namespace = '', name, subresource }: Place = {}): string {
  const { group, version, plural } = resource;
  const segments = [group === '' ? '/api' : `/apis/${group}`, version];
  if (resource.namespaced && namespace !== '') segments.push('namespaces', namespace);
  segments.push(plural);
  if (name !== undefined) segments.push(encodeURIComponent(name));
  if (subresource !== undefined) segments.push(subresource);
  return segments.join('/');
}

const define = (group: string, plural: string, namespaced: boolean, version = 'v1'): Resource => ({
  group,
  version,
  plural,
  namespaced,
});

export const NAMESPACES = define('', 'namespaces', false);
export const NODES = define('', 'nodes', false);
export const PODS = define('', 'pods', true);
export const SECRETS = define('', 'secrets', true);
export const CONFIG_MAPS = define('', 'configmaps', true);
export const SERVICE_ACCOUNTS = define('', 'serviceaccounts', true);
export const EVENTS = define('', 'events', true);
export const NEW_EVENTS = define('events.k8s.io', 'events', true);
export const VOLUMES = define('', 'persistentvolumes', false);
export const CLAIMS = define('', 'persistentvolumeclaims', true);
export const REPLICATION_CONTROLLERS = define('', 'replicationcontrollers', true);
export const DEPLOYMENTS = define('apps', 'deployments', true);
export const REPLICA_SETS = define('apps', 'replicasets', true);
export const STATEFUL_SETS = define('apps', 'statefulsets', true);
export const DAEMON_SETS = define('apps', 'daemonsets', true);
export const CONTROLLER_REVISIONS = define('apps', 'controllerrevisions', true);
export const JOBS = define('batch', 'jobs', true);
export const CRON_JOBS = define('batch', 'cronjobs', true);
export const SERVICES = define('', 'services', true);
export const ENDPOINTS = define('', 'endpoints', true);
export const ENDPOINT_SLICES = define('discovery.k8s.io', 'endpointslices', true);
export const BUDGETS = define('policy', 'poddisruptionbudgets', true);
export const LEASES = define('coordination.k8s.io', 'leases', true);
export const STORAGE_CLASSES = define('storage.k8s.io', 'storageclasses', false);
export const VOLUME_ATTRIBUTES_CLASSES = define('storage.k8s.io', 'volumeattributesclasses', false);
export const VOLUME_ATTACHMENTS = define('storage.k8s.io', 'volumeattachments', false);
export const CSI_DRIVERS = define('storage.k8s.io', 'csidrivers', false);
export const CUSTOM_RESOURCE_DEFINITIONS = define('apiextensions.k8s.io', 'customresourcedefinitions', false);
export const CLUSTER_ROLES = define('rbac.authorization.k8s.io', 'clusterroles', false);
export const CERTIFICATE_REQUESTS = define('certificates.k8s.io', 'certificatesigningrequests', false);
export const FLOW_SCHEMAS = define('flowcontrol.apiserver.k8s.io', 'flowschemas', false);
export const PRIORITY_LEVELS = define('flowcontrol.apiserver.k8s.io', 'prioritylevelconfigurations', false);
export const IP_ADDRESSES = define('networking.k8s.io', 'ipaddresses', false);
export const SERVICE_RANGES = define('networking.k8s.io', 'servicecidrs', false);
export const EVICTION_REQUESTS = define('lifecycle.k8s.io', 'evictionrequests', true, 'v1alpha1');
export const EVICTIONS = define('lifecycle.k8s.io', 'evictions', true, 'v1alpha1');
