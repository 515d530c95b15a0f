import { Labels, crds as machineCrds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  type CommonFlags,
  commonFlags,
  createClient,
  createRecorder,
  type FlagValues,
  handlerTransport,
  nodes,
  parseFlags,
  seededRandom,
  silentLogger,
  UnitRunner,
  VirtualClock,
} from '@mcm/kube';
import {
  conditionOf,
  controllerConfigs,
  machineConfigCrds,
  machineConfigPools,
  NodeAnnotations,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { machineConfigController } from './binary.ts';
import { createConfigControllers } from './controllers.ts';

const parse = async (...argv: string[]) => {
  const { defaults, flags } = machineConfigController;
  const parsed = await parseFlags(machineConfigController, { ...commonFlags(defaults), ...flags }, argv);
  if (parsed.kind !== 'run') throw new Error('nothing to run');
  return parsed.values as FlagValues<CommonFlags> & FlagValues<typeof flags>;
};

test('flags have defaults, and errors name the invalid flag', async () => {
  expect(await parse()).toMatchObject({ port: 8797, 'keep-renders': 10, 'halt-degraded': 0, 'leader-elect': true });
  await expect(parse('--keep-renders=-2')).rejects.toThrow('--keep-renders');
  const values = await parse('--tls-profile=New');
  expect(machineConfigController.check?.(values)).toEqual([
    '--tls-profile must be one of Old, Intermediate, Modern, not "New"',
  ]);
});

test('the binary checks the CRDs of all its kinds for their existence and version', () => {
  const kinds = machineConfigController.crds?.map(({ spec }) => spec.names.kind);
  expect(kinds?.toSorted()).toEqual([
    'ContainerRuntimeConfig',
    'ControllerConfig',
    'KubeletConfig',
    'MachineConfig',
    'MachineConfigPool',
  ]);
});

const TREE = new Map([
  ['worker/00-worker/_base/files/motd.yaml', 'mode: 0644\npath: /etc/motd\ncontents:\n  inline: hello\n'],
]);

test('the units of the binary render the templates and update a node to the target', async () => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(3);
  const plane = await startControlPlane({
    clock,
    random: () => random.next(),
    crds: [...machineConfigCrds],
    controllers: false,
  });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const runtime = { clock, random, log: silentLogger };
  const recorder = createRecorder({ client, component: 'test', ...runtime });
  const { units } = createConfigControllers({
    control: client,
    target: client,
    recorder,
    nodeRecorder: recorder,
    runtime,
    tree: TREE,
    identity: { version: 'v1', hash: 'h1' },
  });
  const stop = new AbortController();
  const running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  try {
    const resource = client.resource(controllerConfigs);
    await resource.create({ metadata: { name: 'machine-config-controller' }, spec: { platform: 'none' } });
    const labels = { 'node-role.kubernetes.io/worker': '' };
    await client.resource(machineConfigPools).create({
      metadata: { name: 'worker' },
      spec: {
        machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } },
        nodeSelector: { matchLabels: labels },
      },
    });
    const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
    const annotations = { [CurrentConfig]: 'old', [DesiredConfig]: 'old', [State]: 'Done' };
    await client.resource(nodes).create({ metadata: { name: 'n', labels, annotations }, spec: {} });
    await clock.advance(60_000);
    const target = (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name ?? '';
    expect((await client.resource(nodes).get('n')).metadata.annotations?.[DesiredConfig]).toBe(target);
    const done = { metadata: { annotations: { [CurrentConfig]: target } } };
    await client.resource(nodes).patch('n', { type: 'merge', body: done });
    await clock.advance(10_000);
    const { status } = await client.resource(machineConfigPools).get('worker');
    expect(conditionOf(status?.conditions, 'Updated')?.status).toBe('True');
  } finally {
    stop.abort();
    await running;
    await plane.close();
  }
});

test.each([
  [[], 'NotFollowed', false],
  [['--machine-pools'], 'NotFound', true],
])('the binary with %j reports for a pool with machines: %s', async (argv, reason, follows) => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(3);
  const crds = [...machineConfigCrds, ...machineCrds];
  const plane = await startControlPlane({ clock, random: () => random.next(), crds, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const runtime = { clock, random, log: silentLogger };
  const recorder = createRecorder({ client, component: 'test', ...runtime });
  const flags = await parse(...argv);
  const given = { control: client, target: client, recorder, runtime, flags, metrics: {} };
  const units = await machineConfigController.units(given as never);
  const stop = new AbortController();
  const running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  try {
    expect(units.some(({ name }) => name === 'machine')).toBe(follows);
    await client.resource(controllerConfigs).create({
      metadata: { name: 'machine-config-controller' },
      spec: { platform: 'none' },
    });
    const machineRef = { kind: 'MachineDeployment', namespace: 'default', name: 'x' };
    await client.resource(machineConfigPools).create({
      metadata: { name: 'worker' },
      spec: {
        machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } },
        machineRef: machineRef as never,
      },
    });
    await clock.advance(60_000);
    const { status, spec } = await client.resource(machineConfigPools).get('worker');
    expect(spec?.configuration?.name).toMatch(/^rendered-worker-/);
    expect(conditionOf(status?.conditions, 'MachineRefResolved')).toMatchObject({ status: 'False', reason });
    expect(conditionOf(status?.conditions, 'Updated')?.status).toBe('False');
  } finally {
    stop.abort();
    await running;
    await plane.close();
  }
});

test('without permission to list machines, pools with machines report verb and resource, and other pools continue', async () => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(3);
  const crds = [...machineConfigCrds, ...machineCrds];
  const plane = await startControlPlane({ clock, random: () => random.next(), crds, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  let allowed = false;
  const refused = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (allowed || !/^\/apis\/machine\.sapcloud\.io\/.*\/machines$/.test(pathname)) return plane.fetch(request);
    const message =
      'machines.machine.sapcloud.io is forbidden: User "mcc" cannot list resource "machines" in API group "machine.sapcloud.io" at the cluster scope';
    const status = { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message };
    return Response.json(status, { status: 403 });
  };
  const own = createClient({ transport: handlerTransport(refused), userAgent: 'mcc', clock });
  const runtime = { clock, random, log: silentLogger };
  const recorder = createRecorder({ client: own, component: 'test', ...runtime });
  const flags = await parse('--machine-pools');
  const units = await machineConfigController.units({
    control: own,
    target: own,
    recorder,
    runtime,
    flags,
    metrics: {},
  } as never);
  const stop = new AbortController();
  const running = new UnitRunner({ units, ...runtime }).run(stop.signal);
  const pool = (name: string) => client.resource(machineConfigPools).get(name);
  const resolved = async () => conditionOf((await pool('machines')).status?.conditions, 'MachineRefResolved');
  try {
    await client.resource(controllerConfigs).create({
      metadata: { name: 'machine-config-controller' },
      spec: { platform: 'none' },
    });
    const machineConfigSelector = { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } };
    const role = { 'node-role.kubernetes.io/worker': '' };
    const machineRef = { kind: 'MachineDeployment' as const, namespace: 'default', name: 'x' };
    const specs = { worker: { nodeSelector: { matchLabels: role } }, machines: { machineRef } };
    for (const [name, spec] of Object.entries(specs)) {
      await client.resource(machineConfigPools).create({
        metadata: { name },
        spec: { machineConfigSelector, maxUnavailable: 2, ...spec },
      });
    }
    const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
    const annotations = { [CurrentConfig]: 'old', [DesiredConfig]: 'old', [State]: 'Done' };
    // The node `plain` has no machine. The machine of the node `born` could belong to a pool.
    for (const [name, labels] of [
      ['plain', role],
      ['born', { ...role, [Labels.MachineName]: 'm' }],
    ] as const) {
      await client.resource(nodes).create({ metadata: { name, labels, annotations }, spec: {} });
    }
    await clock.advance(60_000);
    expect(await resolved()).toMatchObject({
      status: 'False',
      reason: 'Forbidden',
      message: expect.stringContaining(
        'has no permission to list machines.machine.sapcloud.io: apply the ClusterRoles',
      ),
    });
    const target = (await pool('worker')).spec?.configuration?.name;
    const reported = async (name: string) =>
      (await client.resource(nodes).get(name)).metadata.annotations?.[DesiredConfig];
    expect([target, await reported('plain'), await reported('born')]).toEqual([
      expect.stringMatching(/^rendered-worker-/),
      target,
      'old',
    ]);
    allowed = true;
    await clock.advance(60_000);
    expect([(await resolved())?.reason, await reported('born')]).toEqual(['NotFound', target]);
  } finally {
    stop.abort();
    await running;
    await plane.close();
  }
});
