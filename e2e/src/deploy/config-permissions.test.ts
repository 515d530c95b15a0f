import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createAccess,
  createClient,
  createRecorder,
  handlerTransport,
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
import { applyObjects, DEFAULT_INSTALL, installSections } from 'mcm';
import { expect, test } from 'vitest';
import { allowedBy, askedFor, type RoleObject } from './asked.ts';

/** The machine-config-controller as the ServiceAccount of the installation: nothing is refused, all that is granted is used. */

const USER = 'system:serviceaccount:default:machine-config-controller';
const objects = installSections(DEFAULT_INSTALL).find(({ name }) => name === 'machine-config')?.objects ?? [];
const roles = objects.filter((object): object is RoleObject => 'rules' in object);
const installed = objects.filter((object) => 'kind' in object && /Role|ServiceAccount/.test(String(object.kind)));

/** What the story does not do, and why it must be allowed all the same. */
const JUSTIFIED: Readonly<Record<string, string>> = {
  '* machine.sapcloud.io/machines patch': 'told how the updates of their nodes go, where a pool refers to them',
  '* machine.sapcloud.io/machinedeployments patch': 'rolled out where a pool replaces machines',
  'default /events patch': 'an event that comes again is counted in the one that is there',
};
/** Asked by the API server itself where it guards owners that block deletion. */
const ofOwners = (each: string): boolean => each.endsWith('/finalizers update');

test('nothing is refused to the machine-config-controller, and all that it may do is used or justified', async () => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(5);
  const plane = await startControlPlane({
    ...{ clock, random: () => random.next(), crds: [...machineConfigCrds, ...crds], controllers: false },
  });
  const allowed = allowedBy(roles);
  const [used, refused] = [new Set<string>(), new Set<string>()];
  const admin = createClient({ transport: handlerTransport((r) => plane.fetch(r)), userAgent: 'admin', clock });
  const transport = handlerTransport(async (request) => {
    const headers = new Headers(request.headers);
    headers.set('impersonate-user', USER);
    const answer = await plane.fetch(new Request(request, { headers }));
    const { pathname, search } = new URL(request.url);
    if (answer.status === 403) refused.add(`${request.method} ${pathname}`);
    const hit = askedFor(request.method, pathname + search).find((each) => allowed.has(each));
    if (hit !== undefined) used.add(hit);
    return answer;
  });
  const client = createClient({ transport, userAgent: 'controller', clock });
  await applyObjects(admin, installed, { force: false, signal: new AbortController().signal });
  const runtime = { clock, random, log: silentLogger };
  const recorder = createRecorder({ client, component: 'test', ...runtime });
  const { units } = createConfigControllers(
    {
      ...{ control: client, target: client, recorder, nodeRecorder: recorder, runtime },
      ...{ tree: await loadTemplates(TEMPLATES), identity: { version: 'v1', hash: 'h1' } },
    },
    { pullSecretNamespace: 'default', keepRenders: 0, machinePools: true },
  );
  const stop = new AbortController();
  const running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  const election = runElected(
    {
      ...{ client, lease: { namespace: 'default', name: 'machine-config-controller' }, identity: 'me' },
      ...{ ...runtime, signal: stop.signal },
    },
    (term) => new Promise<void>((resolve) => term.addEventListener('abort', () => resolve(), { once: true })),
  );
  try {
    await story();
  } finally {
    stop.abort(new Error('the test ends'));
    await Promise.allSettled([running, election]);
    await plane.close();
  }
  expect([...refused]).toEqual([]);
  expect([...allowed].filter((each) => !used.has(each) && !ofOwners(each) && JUSTIFIED[each] === undefined)).toEqual(
    [],
  );
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
    // Edits of generated MachineConfigs are undone; configs of nodes come and go; older renders are pruned.
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
    // One without pods is drained at once, and read anew before that is said.
    await admin.resource(nodes).create({ metadata: { name: 'm', ...drain.metadata }, spec: {} });
    await clock.advance(120_000);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await admin.resource(secrets, 'kube-system').create({
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      data: {
        ...{ 'token-id': base64('abcdef'), 'token-secret': base64('0123456789abcdef') },
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
    const endpoint = createConfigEndpoint({ control: client, target: client, clock, log: silentLogger });
    const asked = { method: 'GET', remoteAddress: '10.0.0.9', authorization: 'Bearer abcdef.0123456789abcdef' };
    const ask = (pool: string) => endpoint({ ...asked, path: `/config/${pool}`, accept: undefined });
    expect((await ask('worker')).status).toBe(200);
    expect((await ask('referring')).status).toBe(500);
    const access = createAccess({ client: () => client, clock, log: silentLogger });
    expect(await access({ ...asked, path: '/metrics', verb: 'get' })).toMatchObject({ status: 403 });
  }
});
