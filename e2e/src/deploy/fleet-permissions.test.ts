import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, Finalizers, type MachineDeployment, machineDeployments } from '@mcm/api';
import {
  clusterApiBinding,
  DEFAULT_INSTALL,
  fleetBinding,
  handOverBinding,
  installSections,
  profileBinding,
} from '@mcm/cli';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { machineControllerBinary } from '@mcm/core';
import {
  type BinaryDefinition,
  configMaps,
  createClient,
  events,
  type Flags,
  ignoreNotFound,
  type KubeClient,
  leases,
  namespaces,
  runBinary,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { createLocalDriver } from '@mcm/provider-local';
import { expect, onTestFinished, test } from 'vitest';
import { allowedBy, neededPermissions, type RoleObject } from './needed-permissions.ts';

/** Runs a fleet of both programs with the ServiceAccount and the roles of the installation. */

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const BOUND = 'shoot--a';
const UNBOUND = 'shoot--b';
const ACCOUNT = `system:serviceaccount:${DEFAULT_INSTALL.namespace}:${DEFAULT_INSTALL.accounts.fleet}`;

interface Rbac extends RoleObject {
  readonly kind: string;
}
const objects = (installSections(DEFAULT_INSTALL).find(({ name }) => name === 'fleet')?.objects ?? []).filter(
  (object): object is Rbac => 'kind' in object && /^(Cluster)?Role(Binding)?$/.test(String(object.kind)),
);
const own = allowedBy(
  objects.filter(
    (object) =>
      'rules' in object && !/-(cluster|cluster-api|cluster-profiles|metrics|hand-over)\./.test(object.metadata.name),
  ),
);

const kubeconfig = (server: string): string =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
    clusters: [{ name: 'c', cluster: { server: `https://${server}.example` } }],
    users: [{ name: 'u', user: { token: server } }],
  });

interface Setting {
  readonly clock: VirtualClock;
  readonly seed: ControlPlane;
  readonly admin: KubeClient;
  readonly home: string;
  readonly refused: string[];
  readonly used: Set<string>;
  readonly connect: (server: string) => Transport;
}

async function setUp(): Promise<Setting> {
  const clock = new VirtualClock();
  const start = (controllers: readonly string[]) => startControlPlane({ clock, crds, controllers });
  const [seed, target] = [await start(['namespace']), await start([])];
  const folder = await mkdtemp(join(tmpdir(), 'fleet '));
  onTestFinished(async () => {
    await Promise.all([seed.close(), target.close(), rm(folder, { recursive: true })]);
  });
  const home = join(folder, 'home');
  await writeFile(home, kubeconfig('seed'));
  const admin = createClient({ transport: seed.transport, userAgent: 'admin', clock });
  for (const name of [BOUND, UNBOUND]) {
    await admin.resource(namespaces).create({ metadata: { name, labels: { 'mcm-fleet': 'local' } } });
    const stringData = { kubeconfig: kubeconfig('target') };
    await admin.resource(secrets, name).create({ metadata: { name: 'fleet-kubeconfig' }, stringData });
  }
  for (const object of [...objects, fleetBinding(DEFAULT_INSTALL, BOUND) as Rbac]) {
    const within = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
    await admin.request('POST', `${RBAC}${within}/${object.kind.toLowerCase()}s`, { body: object });
  }
  const [refused, used]: [string[], Set<string>] = [[], new Set()];
  const asFleet: Transport = async (request) => {
    const headers = { ...request.headers, 'impersonate-user': ACCOUNT };
    const answer = await seed.transport({ ...request, headers });
    if (answer.status === 403) refused.push(`${request.method} ${request.path}`);
    for (const permission of neededPermissions(request.method, request.path)) used.add(permission);
    return answer;
  };
  return {
    clock,
    seed,
    admin,
    home,
    refused,
    used,
    connect: (server) => (server.includes('seed') ? asFleet : target.transport),
  };
}

async function run<F extends Flags>(
  definition: BinaryDefinition<F>,
  t: Setting,
  more: readonly string[] = [],
  source = '--fleet-namespaces=mcm-fleet=local',
): Promise<void> {
  const ready = Promise.withResolvers<void>();
  let stop: (reason: string) => void = () => undefined;
  const ended = runBinary(definition, {
    argv: [
      ...['--port=0', '--bind-address=127.0.0.1', '--log-level=silent', `--control-kubeconfig=${t.home}`],
      ...[`--namespace=${DEFAULT_INSTALL.namespace}`, source, '--fleet-replica=0'],
      ...more,
    ],
    env: {},
    clock: t.clock,
    random: seededRandom(1),
    identity: definition.name,
    dial: ({ server }) => {
      const transport = t.connect(server);
      return Object.assign((request: Parameters<Transport>[0]) => transport(request), { close: async () => undefined });
    },
    print: (line) => line.startsWith('ready ') && ready.resolve(),
    printError: (line) => ready.reject(new Error(line)),
    onStopRequest: (callback) => {
      stop = callback;
    },
    exit: () => undefined,
  });
  onTestFinished(async () => {
    stop('SIGTERM');
    await t.clock.advance(10_000);
    await ended;
  });
  await ready.promise;
}

test('a fleet serves the clusters whose namespaces bind its role, and uses every permission outside of them', async () => {
  const t = await setUp();
  await t.admin.resource(configMaps, DEFAULT_INSTALL.namespace).create({ metadata: { name: 'mcm-rollout-budget' } });
  await run(machineControllerManager, t, ['--fleet-rollout-budget=mcm-rollout-budget']);
  await run(machineControllerBinary(createLocalDriver({ clock: t.clock, connect: () => t.connect('none') })), t);
  await t.clock.advance(60_000);
  const holderIn = async (namespace: string) =>
    (await t.admin.resource(leases, namespace).list()).items
      .map(({ metadata, spec }) => `${metadata.name} ${(spec?.holderIdentity ?? '').replace(/\.\d+$/, '')}`)
      .toSorted();
  expect(await holderIn(BOUND)).toEqual([
    'machine-controller machine-controller-local',
    'machine-controller-manager machine-controller-manager',
  ]);
  expect(await holderIn(UNBOUND)).toEqual([]);
  expect(t.refused.filter((request) => !request.includes(`/namespaces/${UNBOUND}/`))).toEqual([]);
  expect([...own].filter((permission) => !t.used.has(permission))).toEqual([
    // The test opens no port for metrics, so the fleet does not review the tokens of metrics readers.
    '* authentication.k8s.io/tokenreviews create',
    '* authorization.k8s.io/subjectaccessreviews create',
    // The test has no rollout, so the fleet does not patch the ConfigMap.
    `${DEFAULT_INSTALL.namespace} /configmaps patch`,
  ]);
});

test('after the deletion of a namespace with its RoleBinding, a ClusterRoleBinding lets the fleet end the deletion', async () => {
  const t = await setUp();
  await run(machineControllerManager, t);
  await run(machineControllerBinary(createLocalDriver({ clock: t.clock, connect: () => t.connect('none') })), t);
  const [labels, deployments] = [{ a: 'b' }, t.admin.resource<MachineDeployment>(machineDeployments, BOUND)];
  const template = { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  await deployments.create({ metadata: { name: 'workers', namespace: BOUND }, spec });
  await t.clock.advance(60_000);
  expect((await deployments.get('workers')).metadata.finalizers).toEqual([Finalizers.MachineControllerManager]);
  const { roleRef, subjects, metadata } = fleetBinding(DEFAULT_INSTALL, BOUND) as Rbac &
    Record<'roleRef' | 'subjects', object>;
  await t.admin.request('DELETE', `${RBAC}/namespaces/${BOUND}/rolebindings/${metadata.name}`);
  await t.admin.resource(namespaces).delete(BOUND);
  await t.clock.advance(60_000);
  expect((await t.admin.resource(leases, BOUND).list()).items.map((lease) => lease.metadata.finalizers)).toEqual([
    [Finalizers.FleetController],
    [Finalizers.FleetManager],
  ]);
  await deployments.get('workers');
  const body = { kind: 'ClusterRoleBinding', metadata: { name: 'mcm-fleet-deletion' }, roleRef, subjects };
  await t.admin.request('POST', `${RBAC}/clusterrolebindings`, { body });
  await t.clock.advance(400_000);
  expect(await ignoreNotFound(t.admin.resource(namespaces).get(BOUND))).toBeUndefined();
});

test('with the role for hand-overs in its namespace, and only there, the fleet marks a large cluster', async () => {
  const t = await setUp();
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  const annotations = { text: 'x'.repeat(200_000) };
  const bind = async (namespace: string, object: object): Promise<void> => {
    await t.admin.request('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, { body: object });
  };
  await bind(UNBOUND, fleetBinding(DEFAULT_INSTALL, UNBOUND));
  await bind(BOUND, handOverBinding(DEFAULT_INSTALL, BOUND));
  for (const namespace of [BOUND, UNBOUND])
    for (let index = 0; index < 6; index++)
      await t.admin
        .resource<MachineDeployment>(machineDeployments, namespace)
        .create({ metadata: { name: `workers-${index}`, namespace, annotations }, spec });
  await run(machineControllerManager, t, ['--fleet-cache-limit=1']);
  await t.clock.advance(60_000);
  const marks = [BOUND, UNBOUND].map(async (name) => {
    const { metadata } = await t.admin.resource(namespaces).get(name);
    return metadata.annotations?.['mcm-fleet-handed-over']?.replace(/about \d+ MiB/, 'about N MiB');
  });
  expect(await Promise.all(marks)).toEqual([
    'the caches of machine-controller-manager have about N MiB, and the limit is 1 MiB (--fleet-cache-limit)',
    undefined,
  ]);
  const { items } = await t.admin.resource(leases).list();
  const holderOf = (namespace: string) =>
    items.find(({ metadata }) => metadata.namespace === namespace)?.spec?.holderIdentity ?? '';
  expect([holderOf(BOUND), holderOf(UNBOUND)]).toEqual(['', expect.stringContaining('machine-controller-manager')]);
});

test('the roles are sufficient to hibernate a cluster without machines, and to wake it', async () => {
  const t = await setUp();
  const flags = ['--fleet-hibernate-after=1m'];
  await run(machineControllerManager, t, flags);
  const driver = createLocalDriver({ clock: t.clock, connect: () => t.connect('none') });
  await run(machineControllerBinary(driver), t, flags);
  const marks = async () =>
    (await t.admin.resource(leases, BOUND).list()).items.map(
      ({ metadata, spec }) => `${metadata.annotations?.['fleet-hibernated']} ${spec?.holderIdentity ? 'held' : 'free'}`,
    );
  await t.clock.advance(300_000);
  expect(await marks()).toEqual(['0 free', '0 free']);
  const stringData = { a: 'b' };
  await t.admin.resource(secrets, BOUND).create({ metadata: { name: 'any' }, stringData });
  await t.clock.advance(5_000);
  // Only the machine controller reads Secrets, so only this program reports a missing Secret.
  expect(await marks()).toEqual(['0 held', '0 free']);
  expect(t.refused.filter((request) => !request.includes(`/namespaces/${UNBOUND}/`))).toEqual([]);
});

const addCrd = async ({ admin }: Setting, group: string, plural: string, kind: string): Promise<void> => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const names = { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` };
  const body = {
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  };
  await admin.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body });
};

test('the role for Clusters, and the role in the namespace of a Cluster, are sufficient to serve its cluster', async () => {
  const t = await setUp();
  await addCrd(t, 'cluster.x-k8s.io', 'clusters', 'Cluster');
  await t.admin.request('POST', `${RBAC}/clusterrolebindings`, { body: clusterApiBinding(DEFAULT_INSTALL) });
  for (const namespace of [BOUND, UNBOUND]) {
    const apiVersion = 'cluster.x-k8s.io/v1';
    const body = { apiVersion, kind: 'Cluster', metadata: { name: 'one', namespace, labels: { mcm: 'yes' } } };
    await t.admin.request('POST', `/apis/cluster.x-k8s.io/v1/namespaces/${namespace}/clusters`, { body });
    const stringData = { value: kubeconfig('target') };
    await t.admin.resource(secrets, namespace).create({ metadata: { name: 'one-kubeconfig' }, stringData });
  }
  await run(machineControllerManager, t, [], '--fleet-clusters=mcm=yes');
  const driver = createLocalDriver({ clock: t.clock, connect: () => t.connect('none') });
  await run(machineControllerBinary(driver), t, [], '--fleet-clusters=mcm=yes');
  await t.clock.advance(60_000);
  const held = (await t.admin.resource(leases).list()).items.filter(
    ({ metadata, spec }) => metadata.namespace !== DEFAULT_INSTALL.namespace && spec?.holderIdentity,
  );
  expect(held.map(({ metadata }) => `${metadata.namespace} ${metadata.name}`).toSorted()).toEqual([
    `${BOUND} machine-controller`,
    `${BOUND} machine-controller-manager`,
  ]);
  expect(t.refused.filter((request) => !request.includes(`/namespaces/${UNBOUND}/`))).toEqual([]);
});

test('the role for ClusterProfiles is sufficient to serve a cluster, and to report a bad kubeconfig', async () => {
  const t = await setUp();
  await addCrd(t, 'multicluster.x-k8s.io', 'clusterprofiles', 'ClusterProfile');
  const { namespace } = DEFAULT_INSTALL;
  await t.admin.request('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
    body: profileBinding(DEFAULT_INSTALL),
  });
  for (const [name, Config] of Object.entries({ good: kubeconfig('target'), bad: '{' })) {
    const apiVersion = 'multicluster.x-k8s.io/v1';
    const body = { apiVersion, kind: 'ClusterProfile', metadata: { name, namespace, labels: { mcm: 'yes' } } };
    await t.admin.request('POST', `/apis/multicluster.x-k8s.io/v1/namespaces/${namespace}/clusterprofiles`, { body });
    const labels = { 'x-k8s.io/cluster-profile': name };
    await t.admin.resource(secrets, namespace).create({ metadata: { name, labels }, stringData: { Config } });
  }
  await run(machineControllerManager, t, [], '--fleet-cluster-profiles=mcm=yes');
  await t.clock.advance(60_000);
  const target = createClient({ transport: t.connect('target'), userAgent: 'admin', clock: t.clock });
  const lease = await target.resource(leases, 'default').get('machine-controller-manager');
  expect(lease.spec?.holderIdentity).toMatch(/^machine-controller-manager/);
  const reported = (await t.admin.resource(events, namespace).list()).items;
  expect(reported.map(({ reason, involvedObject }) => `${reason} ${involvedObject?.name}`)).toEqual([
    'FleetClusterStopped bad',
  ]);
  expect(t.refused).toEqual([]);
});
