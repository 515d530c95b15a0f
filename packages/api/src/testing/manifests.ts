import { API_VERSION } from '../kinds/group.ts';

/**
 * Manifests that an API server with the CRDs of this package must accept, and manifests that the API server must
 * refuse.
 */

/** A manifest as a user writes it. */
export type Manifest = Record<string, unknown>;

/** A manifest that must be refused. */
export interface BadManifest {
  readonly title: string;
  readonly object: Manifest;
  readonly path: string;
}

type Spec = Record<string, unknown>;

const metadata = (name: string): Manifest => ({ name, namespace: 'default' });

const template = (change: Spec = {}): Spec => ({
  metadata: { labels: { app: 'pool', tier: 'web' } },
  spec: { class: { kind: 'MachineClass', name: 'small' }, ...change },
});

/** Returns a valid MachineDeployment with some fields of its spec replaced. */
export const deploymentManifest = (change: Spec = {}): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'MachineDeployment',
  metadata: metadata('pool'),
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'pool' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: template(),
    ...change,
  },
});

/** Returns a valid MachineSet with some fields of its spec replaced. */
export const setManifest = (change: Spec = {}): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'MachineSet',
  metadata: metadata('pool-1'),
  spec: { replicas: 3, selector: { matchLabels: { app: 'pool' } }, template: template(), machineClass: {}, ...change },
});

/** Returns a valid Machine with some fields of its spec replaced. */
export const machineManifest = (change: Spec = {}): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'Machine',
  metadata: metadata('pool-1-abcde'),
  spec: { class: { kind: 'MachineClass', name: 'small' }, ...change },
});

/** Returns a valid MachineClass with some fields of its node template replaced. */
export const classManifest = (nodeTemplate: Spec = {}): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'MachineClass',
  metadata: metadata('small'),
  provider: 'local',
  providerSpec: { size: 'small', disks: [{ gb: 20 }] },
  secretRef: { name: 'cloud', namespace: 'default' },
  nodeTemplate: {
    capacity: { cpu: 4, gpu: '0', memory: '16Gi' },
    instanceType: 'small',
    region: 'here',
    zone: 'a',
    ...nodeTemplate,
  },
});

const rolling = (budget: Spec): Manifest =>
  deploymentManifest({ strategy: { type: 'RollingUpdate', rollingUpdate: budget } });

const inPlace = (budget: Spec): Manifest =>
  deploymentManifest({ strategy: { type: 'InPlaceUpdate', inPlaceUpdate: budget } });

const selecting = (...matchExpressions: readonly Spec[]): Manifest =>
  deploymentManifest({ selector: { matchExpressions } });

/** Manifests that must be accepted. */
export const goodManifests: readonly { readonly title: string; readonly object: Manifest }[] = [
  { title: 'a deployment with everything', object: deploymentManifest() },
  {
    title: 'a deployment that leaves replicas and strategy out',
    object: withoutFields(deploymentManifest(), 'replicas', 'strategy'),
  },
  { title: 'a budget of which one half is given', object: rolling({ maxUnavailable: 1 }) },
  { title: 'percentages', object: rolling({ maxSurge: '25%', maxUnavailable: '100%' }) },
  { title: 'a surge above the replicas', object: rolling({ maxSurge: 30, maxUnavailable: 0 }) },
  { title: 'Recreate', object: deploymentManifest({ strategy: { type: 'Recreate' } }) },
  { title: 'Auto in-place updates', object: inPlace({ maxSurge: 1, maxUnavailable: 1, orchestrationType: 'Auto' }) },
  { title: 'Manual in-place updates with defaults', object: inPlace({ orchestrationType: 'Manual' }) },
  { title: 'an empty selector, which is warned of later', object: deploymentManifest({ selector: {} }) },
  {
    title: 'requirements that the template meets',
    object: selecting(
      { key: 'app', operator: 'In', values: ['pool', 'other'] },
      { key: 'app', operator: 'NotIn', values: ['other'] },
      { key: 'absent', operator: 'NotIn', values: ['other'] },
      { key: 'tier', operator: 'Exists' },
      { key: 'absent', operator: 'DoesNotExist' },
    ),
  },
  {
    title: 'fields of the template metadata that mean nothing here',
    object: deploymentManifest({
      template: { ...template(), metadata: { labels: { app: 'pool' }, creationTimestamp: null, clusterName: 'x' } },
    }),
  },
  { title: 'a set', object: setManifest() },
  {
    title: 'a machine with every setting',
    object: machineManifest({
      providerID: 'local:///pool-1-abcde',
      nodeTemplate: {
        metadata: { labels: { 'example.com/role': 'web' }, annotations: { note: 'any text, of course' } },
        spec: { taints: [{ key: 'dedicated', value: 'web', effect: 'NoExecute' }] },
      },
      drainTimeout: '1h30m',
      healthTimeout: '10m0s',
      creationTimeout: '.5h',
      inPlaceUpdateTimeout: '0',
      machinePreserveTimeout: '96h0m0s',
      disableHealthTimeout: true,
      maxEvictRetries: 0,
      nodeConditions: 'KernelDeadlock,DiskPressure',
    }),
  },
  { title: 'a class', object: classManifest() },
  { title: 'a class without node template', object: withoutFields(classManifest(), 'nodeTemplate') },
  {
    title: 'quantities in every form',
    object: classManifest({ virtualCapacity: { a: '+1.5Gi', b: '1e3', c: '100m', d: 7, e: '3E' } }),
  },
];

function withoutFields(manifest: Manifest, ...names: readonly string[]): Manifest {
  const keep = (object: object): Spec =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
  const { spec } = manifest;
  return {
    ...keep(manifest),
    ...(typeof spec === 'object' && spec !== null && !names.includes('spec') && { spec: keep(spec) }),
  };
}

const badDurations = ['10', '10 minutes', '-5m', '', '1d', '9999999h', 'h'].map((value) => ({
  title: `duration "${value}"`,
  object: machineManifest({ healthTimeout: value }),
  path: 'spec.healthTimeout',
}));

const badQuantities = ['4 cores', '1GiB', '', '1e1.5', true].map((value) => ({
  title: `quantity ${JSON.stringify(value)}`,
  object: classManifest({ capacity: { cpu: value, gpu: 0, memory: '1Gi' } }),
  path: 'nodeTemplate.capacity',
}));

const badBudgets = [-1, '-1%', '10', '25 %', '1.5%', true, 3_000_000_000].map((value) => ({
  title: `maxSurge ${JSON.stringify(value)}`,
  object: rolling({ maxSurge: value, maxUnavailable: 1 }),
  path: 'spec.strategy.rollingUpdate.maxSurge',
}));

const badSpecs: readonly BadManifest[] = [
  { title: 'no selector', object: withoutFields(deploymentManifest(), 'selector'), path: 'spec.selector' },
  { title: 'no template', object: withoutFields(deploymentManifest(), 'template'), path: 'spec.template' },
  { title: 'negative replicas', object: deploymentManifest({ replicas: -1 }), path: 'spec.replicas' },
  { title: 'replicas as text', object: deploymentManifest({ replicas: '3' }), path: 'spec.replicas' },
  { title: 'replicas beyond an int32', object: setManifest({ replicas: 3_000_000_000 }), path: 'spec.replicas' },
  {
    title: 'an unknown strategy',
    object: deploymentManifest({ strategy: { type: 'Dummy' } }),
    path: 'spec.strategy.type',
  },
  {
    title: 'RollingUpdate without its block',
    object: deploymentManifest({ strategy: { type: 'RollingUpdate' } }),
    path: 'spec.strategy',
  },
  {
    title: 'InPlaceUpdate without its block',
    object: deploymentManifest({ strategy: { type: 'InPlaceUpdate' } }),
    path: 'spec.strategy',
  },
  {
    title: 'an in-place update that nobody orchestrates',
    object: inPlace({ maxSurge: 0, maxUnavailable: 1 }),
    path: 'spec.strategy.inPlaceUpdate.orchestrationType',
  },
  {
    title: 'an unknown orchestration',
    object: inPlace({ maxSurge: 0, maxUnavailable: 1, orchestrationType: 'auto' }),
    path: 'spec.strategy.inPlaceUpdate.orchestrationType',
  },
  {
    title: 'a budget of nothing',
    object: rolling({ maxSurge: 0, maxUnavailable: 0 }),
    path: 'spec.strategy.rollingUpdate',
  },
  {
    title: 'a budget of nothing in percent',
    object: rolling({ maxSurge: '0%', maxUnavailable: '00%' }),
    path: 'spec.strategy.rollingUpdate',
  },
  {
    title: 'a surge over 100 percent',
    object: rolling({ maxSurge: '101%', maxUnavailable: 0 }),
    path: 'spec.strategy.rollingUpdate.maxSurge',
  },
  {
    title: 'more than all machines unavailable',
    object: rolling({ maxSurge: 0, maxUnavailable: '101%' }),
    path: 'spec.strategy.rollingUpdate.maxUnavailable',
  },
  {
    title: 'labels that the template has not',
    object: deploymentManifest({ selector: { matchLabels: { app: 'other' } } }),
    path: 'spec.selector.matchLabels',
  },
  {
    title: 'a template without labels',
    object: setManifest({ template: { spec: { class: { kind: 'MachineClass', name: 'small' } } } }),
    path: 'spec.selector.matchLabels',
  },
  {
    title: 'a requirement that the template does not meet',
    object: selecting({ key: 'app', operator: 'NotIn', values: ['pool'] }),
    path: 'spec.selector.matchExpressions',
  },
  {
    title: 'In without values',
    object: selecting({ key: 'app', operator: 'In' }),
    path: 'spec.selector.matchExpressions[0].values',
  },
  {
    title: 'Exists with values',
    object: selecting({ key: 'app', operator: 'Exists', values: ['pool'] }),
    path: 'spec.selector.matchExpressions[0].values',
  },
  {
    title: 'an unknown operator',
    object: selecting({ key: 'app', operator: 'Equals', values: ['pool'] }),
    path: 'spec.selector.matchExpressions[0].operator',
  },
  {
    title: 'a label value that no object could carry',
    object: deploymentManifest({ selector: { matchLabels: { app: 'a b' } } }),
    path: 'spec.selector.matchLabels',
  },
  {
    title: 'a label key that no object could carry',
    object: deploymentManifest({ template: { ...template(), metadata: { labels: { app: 'pool', 'a b': 'c' } } } }),
    path: 'spec.template.metadata.labels',
  },
  {
    title: 'a node label key that no node could carry',
    object: machineManifest({ nodeTemplate: { metadata: { labels: { 'Example.com/a': 'b' } } } }),
    path: 'spec.nodeTemplate.metadata.labels',
  },
  {
    title: 'a template without class',
    object: deploymentManifest({ template: { metadata: { labels: { app: 'pool' } }, spec: {} } }),
    path: 'spec.template.spec.class',
  },
  {
    title: 'a template with a class without name',
    object: deploymentManifest({ template: template({ class: { kind: 'MachineClass', name: '' } }) }),
    path: 'spec.template.spec.class.name',
  },
  {
    title: 'a set with a class without kind',
    object: setManifest({ template: template({ class: { name: 'small' } }) }),
    path: 'spec.template.spec.class.kind',
  },
  {
    title: 'a machine with a class without kind',
    object: machineManifest({ class: { kind: '', name: 'small' } }),
    path: 'spec.class.kind',
  },
  { title: 'a machine without spec', object: withoutFields(machineManifest(), 'spec'), path: 'spec' },
  {
    title: 'a machine name that no label can hold',
    object: { ...machineManifest(), metadata: metadata('m'.repeat(64)) },
    path: 'metadata.name',
  },
  { title: 'negative retries', object: machineManifest({ maxEvictRetries: -1 }), path: 'spec.maxEvictRetries' },
  {
    title: 'a taint with an unknown effect',
    object: machineManifest({ nodeTemplate: { spec: { taints: [{ key: 'a', effect: 'Never' }] } } }),
    path: 'spec.nodeTemplate.spec.taints[0].effect',
  },
  {
    title: 'a taint without key',
    object: machineManifest({ nodeTemplate: { spec: { taints: [{ key: '', effect: 'NoExecute' }] } } }),
    path: 'spec.nodeTemplate.spec.taints[0].key',
  },
  {
    title: 'a class without providerSpec',
    object: withoutFields(classManifest(), 'providerSpec'),
    path: 'providerSpec',
  },
  { title: 'a providerSpec that is a list', object: { ...classManifest(), providerSpec: [] }, path: 'providerSpec' },
  {
    title: 'a capacity without gpu',
    object: classManifest({ capacity: { cpu: 1, memory: '1Gi' } }),
    path: 'nodeTemplate.capacity',
  },
  { title: 'an empty region', object: classManifest({ region: '' }), path: 'nodeTemplate.region' },
];

/** Manifests that must be refused, each for one reason. */
export const badManifests: readonly BadManifest[] = [...badSpecs, ...badDurations, ...badQuantities, ...badBudgets];
