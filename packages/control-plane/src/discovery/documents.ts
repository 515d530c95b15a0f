import { createHash } from 'node:crypto';
import { apiVersionOf, type KindDefinition } from '../apimachinery/objects/kind.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import type { KindRegistry, ServedGroup } from '../resources/kind-registry.ts';

const DEFAULT_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
/** The server accepts updates of a kind whose CRD is being deleted, but discovery omits the verb `update`. */
const TERMINATING_VERBS = ['delete', 'deletecollection', 'get', 'list', 'watch'];
const PART_VERBS = ['get', 'patch', 'update'];

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface SubresourceFacts {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly kind?: GroupVersionKind;
}

const get = (kind: string): Omit<SubresourceFacts, 'name'> => ({
  verbs: ['get'],
  kind: { group: '', version: 'v1', kind },
});
const connect = (kind: string): Omit<SubresourceFacts, 'name'> => ({
  verbs: ['create', 'get'],
  kind: { group: '', version: 'v1', kind },
});
const ALL_METHODS = ['create', 'delete', 'get', 'patch', 'update'];

const SUBRESOURCES: Readonly<Record<string, Omit<SubresourceFacts, 'name'>>> = {
  'pods/attach': connect('PodAttachOptions'),
  'pods/binding': { verbs: ['create'], kind: { group: '', version: 'v1', kind: 'Binding' } },
  'pods/eviction': { verbs: ['create'], kind: { group: 'policy', version: 'v1', kind: 'Eviction' } },
  'pods/exec': connect('PodExecOptions'),
  'pods/log': { verbs: ['get'] },
  'pods/portforward': connect('PodPortForwardOptions'),
  'pods/proxy': { verbs: ALL_METHODS, kind: { group: '', version: 'v1', kind: 'PodProxyOptions' } },
  'nodes/proxy': { verbs: ALL_METHODS, kind: { group: '', version: 'v1', kind: 'NodeProxyOptions' } },
  'services/proxy': { verbs: ALL_METHODS, kind: { group: '', version: 'v1', kind: 'ServiceProxyOptions' } },
  'namespaces/finalize': { verbs: ['update'] },
  'serviceaccounts/token': {
    verbs: ['create'],
    kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  },
  'pods/metrics': get('PodMetrics'),
};

const SCALE: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

/** Returns the subresources of a kind, sorted by name. For a custom kind, the status subresource is first. */
export function subresourcesOf(kind: KindDefinition): SubresourceFacts[] {
  const facts: SubresourceFacts[] = [];
  if (kind.subresources?.status === true) facts.push({ name: 'status', verbs: PART_VERBS });
  if (kind.subresources?.scale !== undefined) facts.push({ name: 'scale', verbs: PART_VERBS, kind: SCALE });
  for (const name of kind.otherSubresources ?? []) {
    facts.push({ name, ...(SUBRESOURCES[`${kind.plural}/${name}`] ?? { verbs: PART_VERBS }) });
  }
  return kind.custom ? facts : facts.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the verbs of a kind in the order of kube-apiserver. */
export function verbsOf(kind: KindDefinition): readonly string[] {
  if (kind.terminating === true) return TERMINATING_VERBS;
  return kind.verbs ?? (kind.custom ? CUSTOM_VERBS : DEFAULT_VERBS);
}

const STORED_IN: ReadonlyMap<string, string> = new Map([
  ['admissionregistration.k8s.io/mutatingadmissionpolicies', 'v1beta1'],
  ['admissionregistration.k8s.io/mutatingadmissionpolicybindings', 'v1beta1'],
  ['apiextensions.k8s.io/customresourcedefinitions', 'v1beta1'],
  ['autoscaling/horizontalpodautoscalers', 'v2'],
]);

function storageGroupVersion(kind: KindDefinition): string {
  if (kind.storedAs?.resource.startsWith('/') === true) return '/v1';
  const stored = STORED_IN.get(`${kind.group}/${kind.plural}`) ?? kind.storageVersion ?? kind.version;
  return `${kind.group}/${stored}`;
}

/**
 * Returns a short hash of the group, version and kind in which the server stores a resource. A client uses the hash to
 * detect a change of the storage version.
 */
export const storageVersionHash = (kind: KindDefinition): string =>
  createHash('sha256')
    .update(`${storageGroupVersion(kind)}/${kind.kind}`)
    .digest()
    .subarray(0, 8)
    .toString('base64');

const groupOf = (group: ServedGroup): Record<string, unknown> => {
  const versions = group.versions.map((version) => ({ groupVersion: `${group.name}/${version}`, version }));
  return { name: group.name, versions, preferredVersion: versions[0] };
};

export const apiVersions = (serverAddress: string): Record<string, unknown> => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
});

export const apiGroupList = (kinds: KindRegistry): Record<string, unknown> => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: kinds
    .groups()
    .filter(({ name }) => name !== '')
    .map(groupOf),
});

export function apiGroup(kinds: KindRegistry, name: string): Record<string, unknown> | undefined {
  const group = name === '' ? undefined : kinds.group(name);
  return group === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) };
}

function legacyEntries(kind: KindDefinition): Record<string, unknown>[] {
  const main = defined({
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    shortNames: kind.shortNames === undefined || kind.shortNames.length === 0 ? undefined : kind.shortNames,
    categories: kind.categories === undefined || kind.categories.length === 0 ? undefined : kind.categories,
    // A kind without the verb `watch` has no hash, because the server stores no objects of the kind.
    storageVersionHash: verbsOf(kind).includes('watch') ? storageVersionHash(kind) : undefined,
  });
  const parts = subresourcesOf(kind).map((part) => {
    const other = part.kind?.group === kind.group ? undefined : part.kind;
    return defined({
      name: `${kind.plural}/${part.name}`,
      singularName: '',
      namespaced: kind.namespaced,
      group: other?.group,
      version: other?.version,
      kind: part.kind?.kind ?? kind.kind,
      verbs: part.verbs,
    });
  });
  return [main, ...parts];
}

/** Returns the document at `/api/v1` or `/apis/GROUP/VERSION`. */
export function apiResourceList(
  kinds: KindRegistry,
  group: string,
  version: string,
): Record<string, unknown> | undefined {
  if (!kinds.hasGroupVersion(group, version)) return undefined;
  const served = [...kinds.of(group, version)];
  if (served.every(({ kind }) => !kind.custom)) served.sort((a, b) => (a.kind.plural < b.kind.plural ? -1 : 1));
  return defined({
    kind: 'APIResourceList',
    // As in kube-apiserver, the list of the core group has no apiVersion.
    apiVersion: group === '' ? undefined : 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: served.flatMap(({ kind }) => legacyEntries(kind)),
  });
}

/** The server does not support v2beta1 of aggregated discovery. */
export const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** The aggregated media type takes precedence at any position of the Accept header. */
export const asksForAggregated = (accept: string): boolean =>
  accept.split(',').some((clause) => {
    const parameters = new Set(clause.split(';').map((part) => part.trim()));
    return AGGREGATED.split(';').every((part) => parameters.has(part));
  });

function aggregatedResource(kind: KindDefinition): Record<string, unknown> {
  const own = kind.custom ? { group: kind.group, version: kind.version } : { group: '', version: '' };
  const parts = subresourcesOf(kind).map((part) => ({
    subresource: part.name,
    responseKind:
      part.kind === undefined || (part.kind.group === kind.group && !kind.custom)
        ? { ...own, kind: part.kind?.kind ?? kind.kind }
        : part.kind,
    verbs: part.verbs,
  }));
  return defined({
    resource: kind.plural,
    responseKind: { ...own, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    shortNames: kind.shortNames === undefined || kind.shortNames.length === 0 ? undefined : kind.shortNames,
    categories: kind.categories === undefined || kind.categories.length === 0 ? undefined : kind.categories,
    subresources: parts.length === 0 ? undefined : parts,
  });
}

export function aggregatedVersion(kinds: KindRegistry, group: string, version: string): Record<string, unknown> {
  const served = [...kinds.of(group, version)];
  if (served.every(({ kind }) => !kind.custom)) served.sort((a, b) => (a.kind.plural < b.kind.plural ? -1 : 1));
  return { version, resources: served.map(({ kind }) => aggregatedResource(kind)), freshness: 'Current' };
}

/**
 * Returns the aggregated document for `/api` (core group) or `/apis` (all other groups) as text.
 * @param versionText The text of `aggregatedVersion`, which changes only when a kind of the version changes
 */
export function aggregatedDiscovery(
  kinds: KindRegistry,
  core: boolean,
  versionText: (group: string, version: string) => string,
): string {
  const items = kinds
    .groups()
    .filter(({ name }) => (name === '') === core)
    .map(({ name, versions }) => {
      const metadata = core ? '{}' : JSON.stringify({ name });
      return `{"metadata":${metadata},"versions":[${versions.map((one) => versionText(name, one)).join(',')}]}`;
    });
  return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[${items.join(',')}]}`;
}
