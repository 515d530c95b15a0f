import { crds, Labels, machineDeployments, machineSets, machines } from '@mcm/api';
import { applyObjects, DEFAULT_INSTALL, installSections } from '@mcm/cli';
import { startControlPlane } from '@mcm/control-plane';
import {
  createAccess,
  createClient,
  createRecorder,
  handlerTransport,
  type KubeObject,
  keepSelfMadeCertificates,
  nodes,
  pods,
  runElected,
  secrets,
  seededRandom,
  silentLogger,
  UnitRunner,
  VirtualClock,
} from '@mcm/kube';
import {
  containerRuntimeConfigs,
  controllerConfigs,
  createConfigEndpoint,
  kubeletConfigs,
  loadTemplates,
  machineConfigCrds,
  machineConfigPools,
  machineConfigs,
  NodeAnnotations,
} from '@mcm/machine-config';
import { createConfigControllers, TEMPLATES } from '@mcm/machine-config-controller';
import { expect, test } from 'vitest';
import { allowedBy, neededPermissions, type RoleObject } from './needed-permissions.ts';

/** Runs the machine-config-controller with the ServiceAccount of the installation. */

const USER = 'system:serviceaccount:default:machine-config-controller';
const objects = installSections(DEFAULT_INSTALL)
  .filter(({ name }) => name === 'machine-config' || name === 'machine-config-target')
  .flatMap((section) => section.objects);
const isRole = (object: object): object is RoleObject => 'rules' in object;
const roles = objects.filter(isRole).filter(({ metadata }) => metadata.name.startsWith('machine-config-controller'));
const installed = objects.filter((object) => 'kind' in object && /Role|ServiceAccount/.test(String(object.kind)));

const JUSTIFIED: Readonly<Record<string, string>> = {
  'default /secrets get': 'of two replicas that make certificates at once one is late, and takes the other’s',
  'default /secrets update': 'certificates that are renewed',
  '* /pods delete': 'a drain at an API server without an eviction API',
};

const API_SERVERS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'apiservers.config.openshift.io' },
  spec: {
    group: 'config.openshift.io',
    scope: 'Cluster',
    names: { plural: 'apiservers', kind: 'APIServer' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/**
 * Resolves with the additional permissions that a request needs in clusters with the admission plugin
 * OwnerReferencesPermissionEnforcement.
 */
async function finalizersOf(request: Request): Promise<readonly string[]> {
  if (request.method === 'GET' || request.body === null) return [];
  const { metadata } = (await request.clone().json()) as { metadata?: KubeObject['metadata'] };
  const owners = (metadata?.ownerReferences ?? []).filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true);
  return owners.map(({ apiVersion, kind }) => `* ${apiVersion.split('/')[0]}/${kind.toLowerCase()}s/finalizers update`);
}

test('no request of the machine-config-controller is refused, and each of its permissions is used or justified', async () => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(5);
  const plane = await startControlPlane({
    clock,
    random: () => random.next(),
    crds: [...machineConfigCrds, ...crds, API_SERVERS],
    controllers: false,
  });
  const allowed = allowedBy(roles);
  const [used, refused] = [new Set<string>(), new Set<string>()];
  const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock });
  const transport = handlerTransport(async (request) => {
    const headers = new Headers(request.headers);
    headers.set('impersonate-user', USER);
    const beside = await finalizersOf(request);
    const answer = await plane.fetch(new Request(request, { headers }));
    const { pathname, search } = new URL(request.url);
    if (answer.status === 403) refused.add(`${request.method} ${pathname}`);
    for (const each of beside) (allowed.has(each) ? used : refused).add(each);
    const hit = neededPermissions(request.method, pathname + search).find((each) => allowed.has(each));
    if (hit !== undefined) used.add(hit);
    return answer;
  });
  const client = createClient({ transport, userAgent: 'controller', clock });
  await applyObjects(admin, installed, { force: false, signal: new AbortController().signal });
  const runtime = { clock, random, log: silentLogger };
  const recorder = createRecorder({ client, component: 'test', ...runtime });
  const { units } = createConfigControllers(
    {
      control: client,
      target: client,
      recorder,
      nodeRecorder: recorder,
      runtime,
      tree: await loadTemplates(TEMPLATES),
      identity: { version: 'v1', hash: 'h1' },
    },
    { pullSecretNamespace: 'default', keepRenders: 0, machinePools: true, watchApiServerConfig: true },
  );
  const stop = new AbortController();
  const certified = Promise.withResolvers<void>();
  const kept = keepSelfMadeCertificates(
    {
      client,
      namespace: 'default',
      secret: 'machine-config-controller-server',
      names: ['a.svc'],
      configurations: '',
      ...runtime,
      use: () => certified.resolve(),
    },
    stop.signal,
  );
  const running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  const elect = (identity: string) =>
    runElected(
      {
        client,
        lease: { namespace: 'default', name: 'machine-config-controller' },
        identity,
        follow: true,
        ...runtime,
        signal: stop.signal,
      },
      (term) => new Promise<void>((resolve) => term.addEventListener('abort', () => resolve(), { once: true })),
    );
  const election = elect('me');
  await clock.settle();
  const standby = elect('another');
  try {
    await story();
    await certified.promise;
  } finally {
    stop.abort(new Error('the test ends'));
    await Promise.allSettled([running, election, standby, kept]);
    await plane.close();
  }
  expect([...refused]).toEqual([]);
  expect([...allowed].filter((each) => !used.has(each) && JUSTIFIED[each] === undefined)).toEqual([]);
  expect(Object.keys(JUSTIFIED).filter((each) => used.has(each) || !allowed.has(each))).toEqual([]);

  async function story(): Promise<void> {
    const { CurrentConfig, DesiredConfig, State, DesiredDrain } = NodeAnnotations;
    await admin.resource(secrets, 'default').create({
      metadata: { name: 'pull' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') },
    });
    await admin.resource(controllerConfigs).create({
      metadata: { name: 'machine-config-controller' },
      spec: { platform: 'none', pullSecret: { namespace: 'default', name: 'pull' } },
    });
    const labels = { 'node-role.kubernetes.io/worker': '' };
    await admin.resource(machineConfigPools).create({
      metadata: { name: 'worker', labels: { of: 'workers' } },
      spec: {
        machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } },
        nodeSelector: { matchLabels: labels },
      },
    });
    const annotations = { [CurrentConfig]: 'old', [DesiredConfig]: 'old', [State]: 'Done' };
    await admin.resource(nodes).create({ metadata: { name: 'n', labels, annotations }, spec: {} });
    await admin.resource(pods, 'default').create({
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    } as never);
    await clock.advance(60_000);
    // The controller reverts changes of generated MachineConfigs, creates and deletes configs of nodes, and deletes old
    // rendered MachineConfigs.
    await admin.resource(machineConfigs).patch('00-worker', { type: 'merge', body: { spec: { config: null } } });
    const spec = { machineConfigPoolSelector: { matchLabels: { of: 'workers' } } };
    await admin
      .resource(kubeletConfigs)
      .create({ metadata: { name: 'k' }, spec: { ...spec, kubeletConfig: { maxPods: 9 } } });
    await admin
      .resource(containerRuntimeConfigs)
      .create({ metadata: { name: 'c' }, spec: { ...spec, containerRuntimeConfig: { logLevel: 'debug' } } });
    await clock.advance(60_000);
    await admin.resource(kubeletConfigs).delete('k');
    await admin.resource(containerRuntimeConfigs).delete('c');
    await clock.advance(60_000);
    const drain = { metadata: { annotations: { [DesiredDrain]: 'drain-x' } } };
    await admin.resource(nodes).patch('n', { type: 'merge', body: drain });
    // A node without pods is drained immediately.
    await admin.resource(nodes).create({ metadata: { name: 'm', ...drain.metadata }, spec: {} });
    await clock.advance(120_000);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await admin.resource(secrets, 'kube-system').create({
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      data: {
        'token-id': base64('abcdef'),
        'token-secret': base64('0123456789abcdef'),
        'usage-bootstrap-authentication': base64('true'),
      },
    });
    const rbac = 'rbac.authorization.k8s.io';
    const group = { apiGroup: rbac, kind: 'Group', name: 'system:bootstrappers' };
    const rule = { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigpools/bootconfig'] };
    const boot = { apiVersion: `${rbac}/v1`, metadata: { name: 'boot' } };
    const made = [
      { ...boot, kind: 'ClusterRole', rules: [{ ...rule, verbs: ['get'] }] },
      {
        ...boot,
        kind: 'ClusterRoleBinding',
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'boot' },
        subjects: [group],
      },
    ];
    await applyObjects(admin, made, { force: false, signal: stop.signal });
    await admin.resource(machineConfigPools).create({
      metadata: { name: 'referring' },
      spec: { machineRef: { kind: 'MachineSet', namespace: 'default', name: 's' } },
    });
    await ofMachines();
    const endpoint = createConfigEndpoint({ control: client, target: client, clock, log: silentLogger });
    const asked = { method: 'GET', remoteAddress: '10.0.0.9', authorization: 'Bearer abcdef.0123456789abcdef' };
    const ask = (pool: string) => endpoint({ ...asked, path: `/config/${pool}`, accept: undefined });
    expect((await ask('worker')).status).toBe(200);
    expect((await ask('referring')).status).toBe(500);
    const access = createAccess({ client: () => client, clock, log: silentLogger });
    expect(await access({ ...asked, path: '/metrics', verb: 'get' })).toMatchObject({ status: 403 });
  }

  /**
   * Creates a pool with a machine, changes the update strategy of the pool to `Replace`, and then adds and removes an
   * invalid config.
   */
  async function ofMachines(): Promise<void> {
    const owner = (kind: string, { name, uid }: KubeObject['metadata']) => ({
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    });
    const template = { metadata: { labels: { of: 'd' } }, spec: { class: { kind: 'MachineClass', name: 'c' } } };
    const spec = { replicas: 1, selector: { matchLabels: { of: 'd' } }, template };
    const deployment = await admin
      .resource(machineDeployments, 'default')
      .create({ metadata: { name: 'd' }, spec } as never);
    const set = await admin.resource(machineSets, 'default').create({
      metadata: { name: 'd-1', ownerReferences: [owner('MachineDeployment', deployment.metadata)] },
      spec,
    } as never);
    await admin.resource(machines, 'default').create({
      metadata: {
        name: 'd-1-a',
        labels: { of: 'd', [Labels.Node]: 'of-machine' },
        ownerReferences: [owner('MachineSet', set.metadata)],
      },
      spec: template.spec,
    } as never);
    const annotations = {
      [NodeAnnotations.CurrentConfig]: 'old',
      [NodeAnnotations.DesiredConfig]: 'old',
      [NodeAnnotations.State]: 'Working',
    };
    await admin.resource(nodes).create({ metadata: { name: 'of-machine', annotations }, spec: {} });
    const pools = admin.resource(machineConfigPools);
    await pools.create({
      metadata: { name: 'machines' },
      spec: {
        machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } },
        machineRef: { kind: 'MachineDeployment', namespace: 'default', name: 'd' },
      },
    });
    await clock.advance(120_000);
    await pools.patch('machines', { type: 'merge', body: { spec: { updateStrategy: 'Replace' } } });
    await clock.advance(120_000);
    const broken = { metadata: { name: 'broken', labels: { 'machineconfiguration.openshift.io/role': 'worker' } } };
    for (let turn = 0; turn < 2; turn++) {
      await admin.resource(machineConfigs).create({ ...broken, spec: { config: { ignition: { version: '9.9.9' } } } });
      await clock.advance(60_000);
      await admin.resource(machineConfigs).delete('broken');
      await clock.advance(60_000);
    }
  }
});
